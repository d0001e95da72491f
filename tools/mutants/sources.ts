/** The sources below src/ as syntax trees and the files of the chart, to find the place of a seeded bug in them. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Lang, type NapiConfig, parse, type SgNode } from "@ast-grep/napi";
import { areaOf, CHART_AREA, type Mutant } from "./mutants.ts";

type Rule = NapiConfig["rule"];

/** A piece of syntax, and the file it stands in. */
interface Place {
  /** From the repository's root. */
  readonly file: string;
  readonly node: SgNode;
}

/** A file as a mutant leaves it. */
export interface Mutated {
  readonly file: string;
  readonly text: string;
}

const DECLARATIONS: Rule = {
  any: [
    "function_declaration",
    "generator_function_declaration",
    "method_definition",
    "variable_declarator",
    "class_declaration",
  ].map((kind) => ({ kind })),
};

export class Sources {
  readonly #root: string;
  readonly #files: readonly Place[];
  readonly #declarations: Readonly<Record<string, readonly Place[]>>;

  constructor(root: string) {
    this.#root = root;
    this.#files = globSync("src/**/*.ts", { cwd: root }).map((file) => ({
      file,
      node: parse(Lang.TypeScript, readFileSync(join(root, file), "utf8")).root(),
    }));
    const declarations = findIn(this.#files, DECLARATIONS);
    this.#declarations = Object.groupBy(declarations, ({ node }) => nameOf(node) ?? "") as Record<
      string,
      Place[]
    >;
  }

  /** Throws where the pattern does not fit exactly once, or where what comes out is no change or no TypeScript. */
  apply(mutant: Mutant): Mutated {
    if (areaOf(mutant) === CHART_AREA) return this.#applyToChart(mutant);
    const { within, find, replacement } = mutant;
    const declarations = this.#declarationsOf(within);
    const places = findIn(declarations, patternOf(find));
    const [place] = places;
    if (place === undefined) throw new Error(this.#misfit(within, find, declarations.length));
    if (places.length > 1) throw new Error(`fits in ${within} at ${linesOf(places)}`);
    const { file, node } = place;
    const became = fill(replacement, node);
    if (became === node.text()) throw new Error("changes nothing");
    const text = edited(node, became);
    if (text === undefined) throw new Error(`is no TypeScript: ${became}`);
    return { file, text };
  }

  #applyToChart({ within, find, replacement }: Mutant): Mutated {
    const file = join("charts/iam-operator", within);
    const pieces = readFileSync(join(this.#root, file), "utf8").split(find);
    if (pieces.length !== 2) throw new Error(`fits in ${file} ${pieces.length - 1} times`);
    return { file, text: pieces.join(replacement) };
  }

  /** Of a name, or of `Class.name`. */
  #declarationsOf(within: string): readonly Place[] {
    const [name = "", owner] = within.split(".").reverse();
    return (this.#declarations[name] ?? []).filter(
      ({ node }) =>
        owner === undefined || node.ancestors().some((ancestor) => nameOf(ancestor) === owner),
    );
  }

  /** Says where else the pattern would fit, since what it is looked for in may have another name by now. */
  #misfit(within: string, find: string, declarations: number): string {
    const others = findIn(this.#files, patternOf(find));
    const what = declarations > 0 ? `does not fit in ${within}` : `there is no ${within}`;
    return others.length > 0 ? `${what}; it would at ${linesOf(others)}` : what;
  }
}

/** The text of the whole file with the piece replaced; `undefined` if that is no TypeScript. */
export function edited(node: SgNode, became: string): string | undefined {
  const text = node
    .getRoot()
    .root()
    .commitEdits([node.replace(became)]);
  const error = parse(Lang.TypeScript, text)
    .root()
    .find({ rule: { kind: "ERROR" } });
  return error === null ? text : undefined;
}

function linesOf(places: readonly Place[]): string {
  const lines = places.map(({ file, node }) => `${file}:${node.range().start.line + 1}`);
  return lines.slice(0, 5).join(", ");
}

function nameOf(declaration: SgNode): string | undefined {
  return declaration.field("name")?.text();
}

function findIn(places: readonly Place[], rule: Rule): readonly Place[] {
  return places.flatMap(({ file, node: tree }) =>
    tree.findAll({ rule }).map((node) => ({ file, node })),
  );
}

/** What is no statement and no expression by itself is read as part of one. */
function patternOf(find: string): Rule {
  if (find.startsWith("{")) return { pattern: { context: `(${find})`, selector: "object" } };
  if (/^\w+: /.test(find)) return { pattern: { context: `({ ${find} })`, selector: "pair" } };
  return { pattern: find };
}

/** `$A` and `$$$A` become what they stand for. A piece without a name cannot be repeated: it would fail in every test. */
function fill(replacement: string, node: SgNode): string {
  if (/\$_|\$\$\$(?![A-Z])/.test(replacement)) throw new Error(`needs a name: ${replacement}`);
  return replacement.replace(/(\$\$\$|\$)([A-Z]+)/g, (_, sign: string, name: string) => {
    const pieces = sign === "$" ? [node.getMatch(name)] : node.getMultipleMatches(name);
    const [first, last] = [pieces[0], pieces.at(-1)];
    const source = node.getRoot().root().text();
    return first && last ? source.slice(first.range().start.index, last.range().end.index) : "";
  });
}
