/** Reads the imports of a file, and compares them with a table of layers. */
import { dirname, join } from "node:path";
import { Lang, parse } from "@ast-grep/napi";
import type { Layer } from "./import-rules.ts";

export interface Import {
  readonly file: string;
  readonly line: number;
  /** A file below src/, or a package. */
  readonly target: string;
  readonly isType: boolean;
}

const STATEMENTS = {
  any: [
    { kind: "import_statement" },
    { kind: "export_statement", has: { field: "source", kind: "string" } },
    { kind: "call_expression", has: { field: "function", kind: "import" } },
  ],
};

export function readImports(file: string, text: string): readonly Import[] {
  return parse(Lang.TypeScript, text)
    .root()
    .findAll({ rule: STATEMENTS })
    .map((node) => {
      const specifier = node.find({ rule: { kind: "string_fragment" } })?.text() ?? "";
      return {
        file,
        line: node.range().start.line + 1,
        target: specifier.startsWith(".") ? join(dirname(file), specifier) : specifier,
        isType: node.text().startsWith("import type ") || node.text().startsWith("export type "),
      };
    });
}

/** Answers what is wrong: forbidden imports, files without a layer, and lines of the table that nothing uses. */
export function judgeImports(
  layers: readonly Layer[],
  files: readonly string[],
  imports: readonly Import[],
): readonly string[] {
  const used = new Set<string>();
  const layerOf = (file: string) => layers.find((layer) => fits(layer.files, file));
  const forbidden = imports.filter((each) => {
    const layer = layerOf(each.file);
    const permits = layer === undefined ? [] : permitsOf(layer, each);
    for (const permit of permits) used.add(permit);
    return permits.length === 0 && layer !== undefined;
  });
  const reserved = imports.filter((each) => {
    const importers = layerOf(each.target)?.importedBy;
    return importers?.some((pattern) => fits(pattern, each.file)) === false;
  });
  return [
    ...files
      .filter((file) => layerOf(file) === undefined)
      .map((file) => `src/${file} fits no layer`),
    ...layers
      .filter((layer) => !files.some((file) => layerOf(file) === layer))
      .map((layer) => `the layer ${layer.files} fits no file`),
    ...forbidden.map((each) => refusal(each, layerOf(each.file))),
    ...reserved.map((each) => refusal(each, layerOf(each.target))),
    ...findCircles(imports).map((circle) => `imports in a circle: ${circle.join(" → ")}`),
    ...layers
      .flatMap((layer) => linesOf(layer).map((line) => idOf(layer, line)))
      .filter((id) => !used.has(id))
      .map((id) => `nothing uses the permission ${id}: remove it`),
  ].map((complaint) => `${complaint} (scripts/import-rules.ts)`);
}

/** Circles of imports, types included, from a file back to itself. If there are any, at least one is found. */
export function findCircles(imports: readonly Import[]): readonly (readonly string[])[] {
  const targetsOf = Map.groupBy(imports, ({ file }) => file);
  const circles: string[][] = [];
  const seen = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file);
    if (start >= 0) circles.push([...path.slice(start), file]);
    if (seen.has(file)) return;
    seen.add(file);
    for (const { target } of targetsOf.get(file) ?? []) visit(target, [...path, file]);
  };
  for (const file of targetsOf.keys()) visit(file, []);
  return circles;
}

function refusal({ file, line, target, isType }: Import, layer: Layer | undefined): string {
  const what = isType ? "types of " : "";
  return `src/${file}:${line} must not import ${what}${target}: ${layer?.because}`;
}

/** What permits an import: the layer itself, or lines of the table. */
function permitsOf(layer: Layer, { file, target, isType }: Import): readonly string[] {
  const [, kind] = match(layer.files, file) ?? [];
  if (fits(forKind(layer.files, kind), target)) return [layer.files];
  return linesOf(layer)
    .filter((line) => isType || !line.isType)
    .filter((line) => fits(forKind(line.pattern, kind), target))
    .map((line) => idOf(layer, line));
}

interface Line {
  readonly pattern: string;
  readonly isType: boolean;
}

function linesOf({ imports, types = [] }: Layer): readonly Line[] {
  return [
    ...imports.flatMap(alternatives).map((pattern) => ({ pattern, isType: false })),
    ...types.flatMap(alternatives).map((pattern) => ({ pattern, isType: true })),
  ];
}

/** `a/{b,c}` is `a/b` and `a/c`: each must be used. */
function alternatives(pattern: string): readonly string[] {
  const [all, before = "", list = "", after = ""] = /^(.*?)\{(.*?)\}(.*)$/.exec(pattern) ?? [];
  if (all === undefined) return [pattern];
  return list.split(",").flatMap((each) => alternatives(`${before}${each}${after}`));
}

function idOf(layer: Layer, { pattern, isType }: Line): string {
  return `of ${layer.files} to import ${isType ? "types of " : ""}${pattern}`;
}

function forKind(pattern: string, kind: string | undefined): string {
  return kind === undefined ? pattern : pattern.replaceAll("<kind>", kind);
}

function fits(pattern: string, path: string): boolean {
  return match(pattern, path) !== null;
}

function match(pattern: string, path: string): RegExpExecArray | null {
  const source = pattern
    .split(/(\*\*|\*|<kind>|[{},])/)
    .map((piece) => WILDCARDS.get(piece) ?? RegExp.escape(piece));
  return new RegExp(`^${source.join("")}$`).exec(path);
}

const WILDCARDS = new Map([
  ["**", ".+"],
  ["*", "[^/]+"],
  ["<kind>", "([^/]+)"],
  ["{", "(?:"],
  [",", "|"],
  ["}", ")"],
]);
