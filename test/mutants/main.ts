/**
 * `npm run mutants -- [--only N,N] [--json FILE] [--record]`: puts every seeded bug into a copy of the sources and
 * runs the tests. The one that is known to notice it goes first (`killers.json`, written by `--record`).
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { toError } from "../../src/util/to-error.ts";
import { type Mutant, mutants } from "./mutants.ts";
import { Sources } from "./sources.ts";
import { type Killer, Trials, type Verdict } from "./trials.ts";

interface Result {
  readonly name: string;
  readonly verdict: Verdict;
}

const root = join(import.meta.dirname, "../..");
const KILLERS = join(import.meta.dirname, "killers.json");
const known: Readonly<Record<string, Killer>> = JSON.parse(readFileSync(KILLERS, "utf8"));

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    json: { type: "string" },
    record: { type: "boolean", default: false },
  },
});
const only = values.only?.split(",").map(Number);
const results = await tryAll(
  mutants
    .map((mutant, index) => ({ mutant, number: index + 1 }))
    .filter(({ number }) => only === undefined || only.includes(number)),
);
if (values.record) recordKillers();
process.exitCode = summarize();

async function tryAll(chosen: readonly { mutant: Mutant; number: number }[]): Promise<Result[]> {
  const sources = new Sources(root);
  await using trials = await Trials.of(root);
  const found: Result[] = [];
  for (const { mutant, number } of chosen) {
    const startedAt = performance.now();
    const verdict = await judge(mutant, sources, trials);
    found.push({ name: mutant.name, verdict });
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    console.log(`[${number}/${mutants.length}] ${seconds} s  ${mutant.name}: ${wordsOf(verdict)}`);
  }
  return found;
}

async function judge(mutant: Mutant, sources: Sources, trials: Trials): Promise<Verdict> {
  try {
    return await trials.judge(mutant, sources.apply(mutant), known[mutant.name]);
  } catch (error) {
    return { kind: "Broken", why: toError(error).message };
  }
}

function wordsOf(verdict: Verdict): string {
  if (verdict.kind === "Killed") return `killed by ${verdict.file}: ${verdict.test}`;
  return verdict.kind === "Survived" ? "SURVIVED" : `BROKEN: ${verdict.why}`;
}

function killers(): Readonly<Record<string, Killer>> {
  return Object.fromEntries(
    results.flatMap(({ name, verdict }) =>
      verdict.kind === "Killed" ? [[name, { file: verdict.file, test: verdict.test }]] : [],
    ),
  );
}

/** Keeps what is known of mutants that were not tried; forgets those that no longer exist. */
function recordKillers(): void {
  const all = { ...known, ...killers() };
  const current = mutants.flatMap(({ name }) => {
    const killer = all[name];
    return killer === undefined ? [] : [[name, killer] as const];
  });
  writeFileSync(KILLERS, `${JSON.stringify(Object.fromEntries(current), undefined, 2)}\n`);
}

function summarize(): number {
  const of = (kind: Verdict["kind"]) =>
    results.filter(({ verdict }) => verdict.kind === kind).map(({ name }) => name);
  const summary = {
    total: results.length,
    killed: of("Killed").length,
    survivors: of("Survived"),
    broken: of("Broken"),
    killers: killers(),
  };
  if (values.json !== undefined)
    writeFileSync(values.json, `${JSON.stringify(summary, undefined, 2)}\n`);
  console.log(`${summary.killed} of ${summary.total} mutants killed`);
  for (const name of summary.survivors) console.log(`  survived: ${name}`);
  for (const name of summary.broken) console.log(`  broken: ${name}`);
  return summary.killed === summary.total && summary.total > 0 ? 0 : 1;
}
