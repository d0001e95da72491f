/**
 * `npm run mutants -- [--only NAME,NAME] [--suite SUITE,SUITE] [--not-run] [--json FILE] [--record]`: puts every seeded bug into a
 * copy of the sources and runs tests, first the test that is known to notice the bug. A NAME is `area/bug`, or an area.
 * With `--suite` each of the suites has to notice it, otherwise one of them. `--record` writes `matrix.tsv` after each
 * mutant, and `--not-run` leaves out what it has a result for: an interrupted run goes on.
 *
 * `--generate PATTERN` tries bugs that are made by rule in the files that fit the pattern: in the unit tests, then by the
 * compiler, then in the stories of the simulation. Nothing is recorded. Read the missed ones: some show what the tests
 * lack, others do not matter.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readFlags } from "../../scripts/flags.ts";
import { type Generated, generateMutants } from "./generated.ts";
import { Judge } from "./judge.ts";
import { noticedBy, readMatrix, SUITES, type Suite, withResult, writeMatrix } from "./matrix.ts";
import { areaOf, type Mutant, mutants, type Named } from "./mutants.ts";
import { concerns } from "./suites.ts";
import type { Verdict } from "./verdict.ts";

interface Result {
  readonly name: string;
  readonly suite: Suite;
  readonly verdict: Verdict;
}

/** Without `--suite`; the others take too long. */
const USUAL: readonly Suite[] = ["unit", "chart"];
const root = join(import.meta.dirname, "../..");
const values = readFlags("mutants", {
  only: { type: "string" },
  generate: { type: "string" },
  suite: { type: "string" },
  "not-run": { type: "boolean", default: false },
  json: { type: "string" },
  record: { type: "boolean", default: false },
});
let matrix = readMatrix();
const suites = values.suite?.split(",").map(suiteNamed);
const results = await tryAll(
  values.generate === undefined
    ? chosenMutants(values.only?.split(","))
    : generateMutants(root, values.generate),
);
process.exitCode = summarize();

function record(): void {
  writeMatrix(
    matrix,
    mutants.map(({ name }) => name),
  );
}

function suiteNamed(name: string): Suite {
  const suite = SUITES.find((each) => each === name);
  if (suite === undefined) throw new Error(`unknown suite ${name}; known: ${SUITES.join(", ")}`);
  return suite;
}

function chosenMutants(names: readonly string[] | undefined): readonly Mutant[] {
  if (names === undefined) return mutants;
  return names.flatMap((name) => {
    const found = mutants.filter((mutant) => mutant.name === name || areaOf(mutant) === name);
    if (found.length === 0) throw new Error(`unknown mutant ${name}`);
    return found;
  });
}

async function tryAll(chosen: readonly (Mutant | Generated)[]): Promise<readonly Result[]> {
  await using judge = new Judge(root);
  const found: Result[] = [];
  for (const [index, mutant] of chosen.entries()) {
    for (const suite of suitesFor(mutant)) {
      const verdict = await tryOne(judge, mutant, suite, `[${index + 1}/${chosen.length}]`);
      found.push({ name: mutant.name, suite, verdict });
      if (suites === undefined && verdict.kind === "Noticed") break;
    }
  }
  return found;
}

async function tryOne(
  judge: Judge,
  mutant: Mutant | Generated,
  suite: Suite,
  at: string,
): Promise<Verdict> {
  const startedAt = performance.now();
  const verdict = await judge.judge(mutant, suite, noticedBy(matrix.get(mutant.name), suite));
  note(mutant, suite, verdict);
  // What was interrupted has been recorded up to there.
  if (values.record) record();
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  console.log(`${at} ${seconds} s  ${mutant.name} ${suite}: ${wordsOf(verdict)}`);
  return verdict;
}

function suitesFor(mutant: Mutant | Generated): readonly Suite[] {
  if ("mutated" in mutant) return suites ?? ["unit"];
  const row = matrix.get(mutant.name);
  const wanted = (suites ?? usualSuites(mutant)).filter((suite) => concerns(suite, mutant));
  return values["not-run"] ? wanted.filter((suite) => row?.[suite] === undefined) : wanted;
}

/** The suite that noticed the mutant the last time goes first. */
function usualSuites({ name }: Mutant): readonly Suite[] {
  const known = SUITES.filter((suite) => noticedBy(matrix.get(name), suite) !== undefined);
  return [...new Set([...known.slice(0, 1), ...USUAL])];
}

function note({ name }: Named, suite: Suite, verdict: Verdict): void {
  if (verdict.kind === "Broken") return;
  const test = verdict.kind === "Noticed" ? verdict.test : undefined;
  matrix = withResult(matrix, name, suite, test);
}

function wordsOf(verdict: Verdict): string {
  if (verdict.kind === "Noticed") return `noticed by ${verdict.test}`;
  return verdict.kind === "Missed" ? "MISSED" : `BROKEN: ${verdict.why}`;
}

function summarize(): number {
  const names = new Set(results.map(({ name }) => name));
  const isNoticed = (name: string) => {
    const own = results.filter((each) => each.name === name);
    const noticed = own.filter(({ verdict }) => verdict.kind === "Noticed");
    return suites === undefined ? noticed.length > 0 : noticed.length === own.length;
  };
  const missed = [...names].filter((name) => !isNoticed(name));
  const broken = results.flatMap(({ name, verdict }) => (verdict.kind === "Broken" ? name : []));
  const summary = { total: names.size, noticed: names.size - missed.length, missed, broken };
  if (values.json !== undefined)
    writeFileSync(values.json, `${JSON.stringify({ ...summary, results }, undefined, 2)}\n`);
  console.log(`${summary.noticed} of ${summary.total} mutants noticed`);
  for (const name of missed) console.log(`  missed: ${name}`);
  for (const name of broken) console.log(`  broken: ${name}`);
  return missed.length === 0 && names.size > 0 ? 0 : 1;
}
