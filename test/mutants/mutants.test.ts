import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { noticedBy, type Row, readMatrix, SUITES } from "./matrix.ts";
import { mutants } from "./mutants.ts";
import { Sources } from "./sources.ts";

const root = join(import.meta.dirname, "../..");
const sources = new Sources(root);
const matrix = readMatrix();

test.each(mutants)("mutant $name fits the sources", (mutant) => {
  expect(() => sources.apply(mutant)).not.toThrow();
});

test("every mutant has its own name and a line in the matrix", () => {
  expect([...matrix.keys()]).toEqual([...new Set(mutants.map(({ name }) => name))].toSorted());
  expect(matrix.size).toBe(mutants.length);
});

test.each([...matrix])("mutant %s is noticed by a test that exists", (_, row) => {
  const tests = testsIn(row);
  expect(tests).not.toEqual([]);
  for (const each of tests) expect(existsSync(join(root, fileOf(each))), each).toBe(true);
});

function testsIn(row: Row): readonly string[] {
  return SUITES.flatMap((suite) => noticedBy(row, suite) ?? []);
}

function fileOf(noticed: string): string {
  return noticed.split(": ")[0] ?? "";
}
