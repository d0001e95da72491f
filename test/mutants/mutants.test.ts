import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mutants } from "./mutants.ts";
import { Sources } from "./sources.ts";

const root = join(import.meta.dirname, "../..");
const sources = new Sources(root);
const numbered = mutants.map((mutant, index) => ({ ...mutant, number: index + 1 }));

test.each(numbered)("mutant $number fits the sources: $name", ({ number, ...mutant }) => {
  expect(() => sources.apply(mutant)).not.toThrow();
});

test("every mutant has a name of its own, and a test that is known to notice it", () => {
  const names = mutants.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  const killers = JSON.parse(readFileSync(join(import.meta.dirname, "killers.json"), "utf8"));
  expect(Object.keys(killers)).toEqual(names);
  const files = Object.values<{ file: string }>(killers).map(({ file }) => file);
  for (const path of [...files, ...mutants.flatMap(({ tests }) => tests)])
    expect(existsSync(join(root, path)), path).toBe(true);
});
