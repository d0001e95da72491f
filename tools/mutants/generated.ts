/** Bugs made by rule: each operand, condition, branch and item of some files is left out in turn. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Lang, parse, type SgNode } from "@ast-grep/napi";
import type { Named } from "./mutants.ts";
import { edited, type Mutated } from "./sources.ts";

/** A bug that no one has seeded, named `area/FILE:LINE: what is replaced => what comes in its place`. */
export interface Generated extends Named {
  readonly mutated: Mutated;
}

/** What a piece of syntax may become. */
type Change = readonly [piece: SgNode, becomes: string];

const CHANGES: Readonly<Record<string, (node: SgNode) => readonly Change[]>> = {
  array: withoutEach,
  arguments: (node) => (/^Math\.(min|max)$/.test(calleeOf(node)) ? withoutEach(node) : []),
  binary_expression: (node) =>
    /^(&&|\|\|)$/.test(textOf(node, "operator"))
      ? becoming(node, [textOf(node, "left"), textOf(node, "right")])
      : [],
  if_statement: (node) => {
    const condition = node.field("condition");
    return condition === null ? [] : [[condition, "(false)"]];
  },
  ternary_expression: (node) => {
    const branches = [textOf(node, "consequence"), textOf(node, "alternative")];
    // Which of two texts it is belongs to the wording.
    return branches.every((branch) => /^["`]/.test(branch))
      ? []
      : becoming(node, branches.map(asExpression));
  },
  unary_expression: (node) =>
    textOf(node, "operator") === "!" ? becoming(node, [textOf(node, "argument")]) : [],
};

/** The bugs in all files that fit the pattern; throws if there are none. */
export function generateMutants(root: string, pattern: string): readonly Generated[] {
  const found = globSync(pattern, { cwd: root }).flatMap((file) =>
    mutantsIn(file, readFileSync(join(root, file), "utf8")),
  );
  if (found.length === 0) throw new Error(`nothing to leave out in files that fit ${pattern}`);
  return found;
}

/** The bugs in a file with this text. */
export function mutantsIn(file: string, source: string): readonly Generated[] {
  const tree = parse(Lang.TypeScript, source).root();
  return Object.entries(CHANGES)
    .flatMap(([kind, changesOf]) => tree.findAll({ rule: { kind } }).flatMap(changesOf))
    .flatMap(([node, becomes]) => {
      const text = edited(node, becomes);
      const change = `${inOneLine(node.text())} => ${inOneLine(becomes)}`;
      const name = `${inArea(file)}:${node.range().start.line + 1}: ${change}`;
      return text === undefined ? [] : [{ name, mutated: { file, text } }];
    });
}

/** `area/` and the file in it. */
function inArea(file: string): string {
  return file.replace(/^src\/(kinds\/)?/, "").replace(/^kubectl-iam\//, "plugin/");
}

function withoutEach(list: SgNode): readonly Change[] {
  const items = list.children().filter((child) => child.isNamed() && child.kind() !== "comment");
  if (items.length < 2) return [];
  const [open, close] = [list.text().slice(0, 1), list.text().slice(-1)];
  const listOf = (kept: readonly SgNode[]) =>
    `${open}${kept.map((item) => item.text()).join(", ")}${close}`;
  return becoming(
    list,
    items.map((left) => listOf(items.filter((item) => item !== left))),
  );
}

function becoming(node: SgNode, texts: readonly string[]): readonly Change[] {
  return texts.map((text) => [node, text]);
}

/** An object alone would be the body of its arrow function. */
function asExpression(text: string): string {
  return text.startsWith("{") ? `(${text})` : text;
}

function textOf(node: SgNode, field: string): string {
  return node.field(field)?.text() ?? "";
}

function calleeOf(args: SgNode): string {
  return args.parent()?.field("function")?.text() ?? "";
}

function inOneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").slice(0, 100);
}
