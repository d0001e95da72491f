import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { allScenarios } from "../simulation/all-scenarios.ts";
import { allStories } from "../simulation/stories/all-stories.ts";
import { noticedBy, type Row, readMatrix, SUITES } from "./matrix.ts";
import { mutants } from "./mutants.ts";
import { Sources } from "./sources.ts";

const root = join(import.meta.dirname, "../..");
const sources = new Sources(root);
const matrix = readMatrix();
const runs = new Set([...allStories, ...allScenarios].map(({ name }) => name));

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
  for (const each of tests) expect(exists(each), each).toBe(true);
});

function testsIn(row: Row): readonly string[] {
  return SUITES.flatMap((suite) => noticedBy(row, suite) ?? []);
}

/** A test file, or a run of the simulation. */
function exists(noticed: string): boolean {
  const [run = ""] = noticed.split(" | ");
  const [file = ""] = noticed.split(": ");
  return runs.has(run) || /^seed [0-9]+$/.test(run) || existsSync(join(root, file));
}
