/**
 * `npm run mutants -- [--only N,N] [--json FILE] [--record]`: puts every seeded bug into a copy of the sources and
 * runs the tests. The file that is known to notice it goes first (`killers.json`, written by `--record`).
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import type { Mutant } from "./mutant.ts";
import { mutants } from "./mutants.ts";

const root = join(import.meta.dirname, "../..");
const KILLERS = join(import.meta.dirname, "killers.json");
const COPIED = ["src", "test", "package.json", "vitest.config.ts", "tsconfig.json"];
/** A mutant may make a test run for ever, which is as good as failing. */
const PATIENCE_MS = 180_000;

/** The test that notices a mutant. */
interface Killer {
  readonly file: string;
  readonly test: string;
}

type Verdict =
  | ({ readonly kind: "Killed" } & Killer)
  | { readonly kind: "Survived" }
  | { readonly kind: "Broken"; readonly why: string };

const known: Readonly<Record<string, Killer>> = JSON.parse(readFileSync(KILLERS, "utf8"));

function copySources(): string {
  const copy = mkdtempSync(join(tmpdir(), "mutants-"));
  for (const name of COPIED) cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  return copy;
}

function judge(mutant: Mutant, copy: string): Verdict {
  const path = join(copy, mutant.file);
  const original = readFileSync(path, "utf8");
  const matches = original.split(mutant.find).length - 1;
  if (matches !== 1) return { kind: "Broken", why: `its text is found ${matches} times` };
  // A function, since the text may hold `$`.
  writeFileSync(
    path,
    original.replace(mutant.find, () => mutant.replace),
  );
  try {
    return runInTurn(mutant, copy);
  } finally {
    writeFileSync(path, original);
  }
}

/** First the file that noticed the mutant the last time, then all that might. */
function runInTurn(mutant: Mutant, copy: string): Verdict {
  const first = known[mutant.name]?.file;
  const verdict = first === undefined ? undefined : runTests(mutant, [first], copy);
  return verdict?.kind === "Killed" ? verdict : runTests(mutant, mutant.tests, copy);
}

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

function runTests({ project = "unit" }: Mutant, tests: readonly string[], copy: string): Verdict {
  // Where vitest.config.ts has the reporter write.
  const file = join(copy, "reports/tests.json");
  rmSync(file, { force: true });
  const args = ["run", "--project", project, "--bail", "1", "--reporter", "json"];
  const run = spawnSync(
    process.execPath,
    [join(root, "node_modules/vitest/vitest.mjs"), ...args, ...tests],
    { cwd: copy, encoding: "utf8", timeout: PATIENCE_MS },
  );
  if (run.status === 0) return { kind: "Survived" };
  if (run.signal !== null)
    return { kind: "Killed", file: tests.join(" "), test: "it runs for ever" };
  return verdictOf(file, run.stderr, copy);
}

function verdictOf(file: string, otherwise: string, copy: string): Verdict {
  try {
    const { testResults }: Report = JSON.parse(readFileSync(file, "utf8"));
    const failed = testResults.flatMap(({ name, assertionResults }) =>
      assertionResults
        .filter(({ status }) => status === "failed")
        .map(({ fullName }) => ({ file: relative(copy, name), test: fullName })),
    );
    if (failed[0] !== undefined) return { kind: "Killed", ...failed[0] };
    return { kind: "Broken", why: testResults.map(({ message }) => message).join(" ") };
  } catch {
    return { kind: "Broken", why: otherwise.slice(0, 300) };
  }
}

function wordsOf(verdict: Verdict): string {
  if (verdict.kind === "Killed") return `killed by ${verdict.file}: ${verdict.test}`;
  return verdict.kind === "Survived" ? "SURVIVED" : `BROKEN: ${verdict.why}`;
}

function main(): number {
  const { values } = parseArgs({
    options: {
      only: { type: "string" },
      json: { type: "string" },
      record: { type: "boolean", default: false },
    },
  });
  const only = values.only?.split(",").map(Number);
  const chosen = mutants
    .map((mutant, index) => ({ mutant, number: index + 1 }))
    .filter(({ number }) => only === undefined || only.includes(number));
  const copy = copySources();
  const results: { name: string; verdict: Verdict }[] = [];
  try {
    for (const { mutant, number } of chosen) {
      const startedAt = Date.now();
      const verdict = judge(mutant, copy);
      results.push({ name: mutant.name, verdict });
      const seconds = ((Date.now() - startedAt) / 1_000).toFixed(1);
      console.log(
        `[${number}/${mutants.length}] ${seconds} s  ${mutant.name}: ${wordsOf(verdict)}`,
      );
    }
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
  if (values.record) recordKillers(results);
  return summarize(results, values.json);
}

function killersIn(
  results: readonly { name: string; verdict: Verdict }[],
): Readonly<Record<string, Killer>> {
  return Object.fromEntries(
    results.flatMap(({ name, verdict }) =>
      verdict.kind === "Killed" ? [[name, { file: verdict.file, test: verdict.test }]] : [],
    ),
  );
}

/** Keeps what is known of mutants that were not tried; forgets those that no longer exist. */
function recordKillers(results: readonly { name: string; verdict: Verdict }[]): void {
  const all = { ...known, ...killersIn(results) };
  const current = mutants.flatMap(({ name }) => {
    const killer = all[name];
    return killer === undefined ? [] : [[name, killer] as const];
  });
  writeFileSync(KILLERS, `${JSON.stringify(Object.fromEntries(current), undefined, 2)}\n`);
}

function summarize(
  results: readonly { name: string; verdict: Verdict }[],
  json: string | undefined,
): number {
  const of = (kind: Verdict["kind"]) =>
    results.filter(({ verdict }) => verdict.kind === kind).map(({ name }) => name);
  const summary = {
    total: results.length,
    killed: of("Killed").length,
    survivors: of("Survived"),
    broken: of("Broken"),
    killers: killersIn(results),
  };
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(summary, undefined, 2)}\n`);
  console.log(`${summary.killed} of ${summary.total} mutants killed`);
  for (const name of summary.survivors) console.log(`  survived: ${name}`);
  for (const name of summary.broken) console.log(`  broken: ${name}`);
  return summary.killed === summary.total && summary.total > 0 ? 0 : 1;
}

process.exitCode = main();
