/** src/api/reasons has every reason that an object can give, and no other. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { withoutMarkup } from "../../../src/api/reasons/reason.ts";
import { reasons, sections } from "../../../src/api/reasons/sections.ts";

const root = join(import.meta.dirname, "../../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const textsOf = (files: readonly string[]) => files.map(read).join("\n");
const files = globSync("src/**/*.ts", { cwd: root });
const sources = textsOf(files.filter((file) => !file.startsWith("src/api/reasons/")));
const kinds = textsOf(files.filter((file) => /^src\/(accounts|kinds|reconciler)\//.test(file)));

const found = (pattern: RegExp, text: string) =>
  [...text.matchAll(pattern)].map(([, word = ""]) => word);

const unknown = (names: readonly string[]) =>
  [...new Set(names)].filter((name) => !Object.hasOwn(reasons, name));

test("every code of a failed call is there", () => {
  const codes = ["src/console/errors.ts", "src/kube/errors.ts"].flatMap((path) =>
    found(/^ {2}(?:\| )?"(\w+)"/gm, read(path)),
  );
  expect(codes.length).toBeGreaterThan(20);
  expect(unknown(codes)).toEqual([]);
});

test("every reason that the kinds give is there", () => {
  const given = [
    ...found(/reason: "([A-Z]\w+)"/g, kinds),
    ...found(/new SpecError\(\s*"(\w+)"/g, kinds),
  ];
  expect(given.length).toBeGreaterThan(50);
  expect(unknown(given)).toEqual([]);
});

test("every reason is given by the operator, and is there once", () => {
  const all = sections.flatMap((section) => Object.keys(section.reasons));
  expect(all.filter((reason) => !new RegExp(`\\b${reason}\\b`).test(sources))).toEqual([]);
  expect(new Set(all).size).toBe(all.length);
});

test("texts for a terminal have no markup", () => {
  const texts = Object.values(reasons).flatMap(({ meaning, check = "", fix = "" }) => [
    meaning,
    check,
    fix,
  ]);
  expect(texts.map(withoutMarkup).join("\n")).not.toMatch(/`|[*]{2}|\]\(/);
});
