/**
 * Refuses a map, set or list that outlives a run without a bound that is told in scripts/process-state.ts, so that no
 * tenant's input can fill the memory through it. A line of that file that fits nothing is an error too.
 */
import { join, relative } from "node:path";
import type { Node, SourceFile } from "typescript/unstable/ast";
import {
  isClassDeclaration,
  isPropertyDeclaration,
  isVariableStatement,
} from "typescript/unstable/ast/is";
import { API } from "typescript/unstable/sync";
import { processState } from "./process-state.ts";

const root = join(import.meta.dirname, "..");
const GROWING: ReadonlySet<string> = new Set(["Map", "Set", "Array"]);

const api = new API();
const snapshot = api.updateSnapshot({ openProjects: [join(root, "tsconfig.json")] });
const [project] = snapshot.getProjects();
if (project === undefined) throw new Error("tsconfig.json has no project");
const { program, checker } = project;

/** Fields of classes and variables of modules, as `Class.field` or `variable`. Names in capitals are constants. */
function statesIn(source: SourceFile): readonly string[] {
  const found: string[] = [];
  const textOf = (node: Node | undefined) => node?.getText(source) ?? "";
  source.forEachChild((node) => {
    if (isClassDeclaration(node)) {
      const fields = node.members.filter((member) => isPropertyDeclaration(member));
      for (const { name } of fields)
        if (grows(name)) found.push(`${textOf(node.name)}.${textOf(name)}`);
    } else if (isVariableStatement(node)) {
      for (const { name } of node.declarationList.declarations)
        if (grows(name) && !/^[A-Z_]+$/.test(textOf(name))) found.push(textOf(name));
    }
  });
  return found;
}

function grows(name: Node): boolean {
  const symbol = checker.getTypeAtLocation(name)?.getSymbol();
  return GROWING.has(symbol?.name ?? "");
}

const found = program
  .getSourceFileNames()
  .map((path) => relative(root, path))
  .filter((path) => path.startsWith("src/") && !path.startsWith("src/kubectl-iam/"))
  .flatMap((path) => {
    const source = program.getSourceFile(join(root, path));
    return source === undefined ? [] : statesIn(source).map((name) => `${path.slice(4)} ${name}`);
  });
api.close();

const untold = found.filter((name) => !Object.hasOwn(processState, name));
const stale = Object.keys(processState).filter((name) => !found.includes(name));
for (const name of untold)
  console.log(`src/${name} grows: bound it, and say how in scripts/process-state.ts`);
for (const name of stale) console.log(`scripts/process-state.ts: there is no ${name}`);
if (untold.length + stale.length > 0) process.exitCode = 1;
