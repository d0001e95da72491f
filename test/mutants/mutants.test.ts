import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mutants } from "./mutants.ts";

const root = join(import.meta.dirname, "../..");

const numbered = mutants.map((mutant, index) => ({ ...mutant, number: index + 1 }));

test.each(numbered)("mutant $number fits the sources: $name", ({ file, find, replace, tests }) => {
  expect(readFileSync(join(root, file), "utf8").split(find).length - 1).toBe(1);
  expect(replace).not.toBe(find);
  for (const path of tests) expect(existsSync(join(root, path)), path).toBe(true);
});

test("every mutant has a name of its own, and a test that is known to notice it", () => {
  const names = mutants.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  const killers = JSON.parse(readFileSync(join(import.meta.dirname, "killers.json"), "utf8"));
  expect(Object.keys(killers)).toEqual(names);
});
