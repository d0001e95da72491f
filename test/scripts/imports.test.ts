import { expect, test } from "vitest";
import { LAYERS, type Layer } from "../../scripts/import-rules.ts";
import { findCircles, type Import, judgeImports, readImports } from "../../scripts/imports.ts";

const layers: readonly Layer[] = [
  { files: "util/**", because: "it is below everything", imports: ["node:util"] },
  {
    files: "kinds/<kind>/**",
    because: "kinds are apart",
    imports: ["kinds/<kind>.ts", "util/*"],
    types: ["client.ts"],
  },
  { files: "{client,kinds/*}.ts", because: "shared", imports: [] },
];
const files = ["util/time.ts", "kinds/key/a.ts", "kinds/key/b/c.ts", "kinds/key.ts", "client.ts"];
const permitted = [
  imported("util/time.ts", "node:util"),
  imported("kinds/key/a.ts", "kinds/key/b/c.ts"),
  imported("kinds/key/a.ts", "kinds/key.ts"),
  imported("kinds/key/a.ts", "util/time.ts"),
  imported("kinds/key/a.ts", "client.ts", { isType: true }),
];

test("imports that the table permits pass", () => {
  expect(judge({})).toEqual([]);
});

test.each([
  ["a package of another layer", imported("util/time.ts", "undici"), "it is below everything"],
  ["a layer above", imported("util/time.ts", "client.ts"), "it is below everything"],
  ["another kind", imported("kinds/key/a.ts", "kinds/other/a.ts"), "kinds are apart"],
  ["a value where only types are permitted", imported("kinds/key/a.ts", "client.ts"), "kinds are"],
  ["a file in a folder behind *", imported("kinds/key/a.ts", "util/in/time.ts"), "kinds are apart"],
])("%s is refused, with the reason", (_, forbidden, reason) => {
  const [complaint, ...others] = judge({ imports: [...permitted, forbidden] });
  expect(complaint).toContain(
    `src/${forbidden.file}:3 must not import ${forbidden.target}: ${reason}`,
  );
  expect(others).toEqual([]);
});

test("a reserved layer is refused to all other files, whatever their layer permits", () => {
  const reserved = layers.with(0, { ...layers[0], importedBy: ["client.ts"] } as Layer);
  expect(judge({ layers: reserved })).toEqual([
    expect.stringContaining("src/kinds/key/a.ts:3 must not import util/time.ts: it is below"),
  ]);
});

test("imports in a circle are refused, even if they are permitted", () => {
  const back = imported("kinds/key/b/c.ts", "kinds/key/a.ts", { isType: true });
  expect(judge({ imports: [...permitted, back] })).toEqual([
    expect.stringContaining("circle: kinds/key/a.ts → kinds/key/b/c.ts → kinds/key/a.ts"),
  ]);
});

test("a circle is found from any file, and a file that is reached on two paths is not a circle", () => {
  const edges = ["ab", "ac", "bd", "cd", "de", "ec", "ff"];
  const imports = edges.map(([from = "", to = ""]) => imported(from, to));
  expect(findCircles(imports).map((circle) => circle.join(""))).toEqual(["decd", "ff"]);
});

test("a permission that nothing uses is refused", () => {
  expect(judge({ imports: permitted.slice(1) })).toEqual([
    expect.stringContaining("nothing uses the permission of util/** to import node:util"),
  ]);
});

test("a layer that fits no file, and a file that fits no layer, are refused", () => {
  const old: Layer = { files: "old/**", because: "it is gone", imports: [] };
  expect(judge({ layers: [...layers, old], files: [...files, "new/a.ts"] })).toEqual([
    expect.stringContaining("src/new/a.ts fits no layer"),
    expect.stringContaining("the layer old/** fits no file"),
  ]);
});

test.each([
  ['import { a } from "../x.ts";', "src/x.ts", false],
  ['import type { a } from "./x.ts";', "src/in/x.ts", true],
  ['import {\n  a,\n  type B,\n} from "./x.ts";', "src/in/x.ts", false],
  ['import "undici";', "undici", false],
  ['export { a } from "./x.ts";', "src/in/x.ts", false],
  ['export type { A } from "./x.ts";', "src/in/x.ts", true],
  ['const a = await import("node:net");', "node:net", false],
])("%s is read as an import", (text, target, isType) => {
  expect(readImports("src/in/a.ts", text)).toEqual([
    { file: "src/in/a.ts", line: 1, target, isType },
  ]);
});

test.each([
  ["kinds/api-key/steps/issue.ts", "console/exchange/transport.ts"],
  ["kinds/api-key/steps/issue.ts", "kube/transport/transport.ts"],
  ["kinds/api-key/steps/issue.ts", "undici"],
  ["kinds/api-key/rules/next.ts", "kinds/api-key/observe.ts"],
  ["kinds/api-key/rules/next.ts", "node:fs"],
  ["kinds/api-key/observe.ts", "kinds/connection/registry.ts"],
  ["kinds/api-key/module.ts", "kinds/kinds.ts"],
  ["consumers/controller.ts", "kinds/kinds.ts"],
  ["reconciler/run-effects.ts", "kinds/api-key/observe.ts"],
  ["console/session/session.ts", "kube/errors.ts"],
  ["kube/client/client.ts", "@kubernetes/client-node"],
])("%s must not import %s", (file, target) => {
  expect(judgeImports(LAYERS, [file], [imported(file, target)])).toContainEqual(
    expect.stringContaining(`src/${file}:3 must not import ${target}`),
  );
});

function judge(changed: Partial<{ layers: readonly Layer[]; files: string[]; imports: Import[] }>) {
  return judgeImports(
    changed.layers ?? layers,
    changed.files ?? files,
    changed.imports ?? permitted,
  );
}

function imported(file: string, target: string, { isType = false } = {}): Import {
  return { file, line: 3, target, isType };
}
