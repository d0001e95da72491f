import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { allScenarios } from "../simulation/all-scenarios.ts";
import { allStories } from "../simulation/stories/all-stories.ts";
import { noticedBy, type Row, readMatrix, SUITES } from "./matrix.ts";
import { areaOf, mutants } from "./mutants.ts";
import { Sources } from "./sources.ts";

const root = join(import.meta.dirname, "../..");
const sources = new Sources(root);
const matrix = readMatrix();
/** Areas in which the simulation is to notice most mutants. */
const MEASURED = [
  "api-key",
  "service-account",
  "policy-binding",
  "connection",
  "consumers",
  "frame",
  "iam",
  "leader-election",
  "quota-export",
];
const runs = new Set([...allStories, ...allScenarios].map(({ name }) => name));

test.each(mutants)("mutant $name fits the sources", (mutant) => {
  expect(() => sources.apply(mutant)).not.toThrow();
});

test("the page about safety tells how many mutants there are", () => {
  const page = readFileSync(join(root, "docs/safety.md"), "utf8");
  expect(page).toContain(`seeded bugs | ${mutants.length},`);
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

test("the page about safety tells how many mutants of an area the simulation notices", () => {
  const page = readFileSync(join(root, "docs/safety.md"), "utf8");
  for (const area of MEASURED) {
    const rows = [...matrix].filter(([name]) => areaOf({ name }) === area);
    const noticed = rows.filter(([, row]) => noticedBy(row, "simulation") !== undefined);
    expect(page).toContain(`${area} ${noticed.length} of ${rows.length}`);
  }
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
