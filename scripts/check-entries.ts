/**
 * Refuses `record[name]` if `name` may be any text: a record read from JSON also answers `constructor` and `toString`,
 * which every object inherits. Asks the compiler for types, so arrays and records with a closed set of names pass.
 */
import { join, relative } from "node:path";
import type { Node } from "typescript/unstable/ast";
import { isElementAccessExpression } from "typescript/unstable/ast/is";
import { API, TypeFlags } from "typescript/unstable/sync";

const root = join(import.meta.dirname, "..");
const exempt = new Set([
  "src/util/own-entry.ts",
  // Reads own names only.
  "src/kube/watch/string-pool.ts",
]);

const api = new API();
const snapshot = api.updateSnapshot({ openProjects: [join(root, "tsconfig.json")] });
const [project] = snapshot.getProjects();
if (project === undefined) throw new Error("tsconfig.json has no project");
const { program, checker } = project;

function lookupsOfAnyName(node: Node): readonly Node[] {
  const found = isElementAccessExpression(node) && isAnyText(node.argumentExpression) ? [node] : [];
  const below: (readonly Node[])[] = [];
  node.forEachChild((child) => void below.push(lookupsOfAnyName(child)));
  return [...found, ...below.flat()];
}

function isAnyText(key: Node): boolean {
  return ((checker.getTypeAtLocation(key)?.flags ?? 0) & TypeFlags.String) !== 0;
}

const sources = program
  .getSourceFileNames()
  .map((path) => relative(root, path))
  .filter((path) => path.startsWith("src/") && !exempt.has(path));
for (const path of sources) {
  const source = program.getSourceFile(join(root, path));
  if (source === undefined) throw new Error(`${path} has no source`);
  for (const node of lookupsOfAnyName(source)) {
    const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
    console.log(
      `${path}:${line + 1}: ${node.getText(source)}: use ownEntry (src/util/own-entry.ts)`,
    );
    process.exitCode = 1;
  }
}
if (sources.length < 100) throw new Error("src/ was not found");
api.close();
