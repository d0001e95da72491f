/** `npm run mutants -- [--only N] [--json FILE]`: puts every seeded bug into a copy of the sources and runs the tests. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type Mutant, mutants } from "./mutants.ts";

const root = join(import.meta.dirname, "../..");
const COPIED = ["src", "test", "package.json", "vitest.config.ts", "tsconfig.json"];
/** A mutant may make a test run for ever, which is as good as failing. */
const PATIENCE_MS = 180_000;

type Verdict =
  | { readonly kind: "Killed"; readonly by: string }
  | { readonly kind: "Survived" }
  | { readonly kind: "Broken"; readonly why: string };

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
    return runTests(mutant, copy);
  } finally {
    writeFileSync(path, original);
  }
}

interface Report {
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

function runTests({ tests, project = "unit" }: Pick<Mutant, "tests" | "project">, copy: string) {
  // Where vitest.config.ts has the reporter write.
  const file = join(copy, "reports/tests.json");
  rmSync(file, { force: true });
  const args = ["run", "--project", project, "--bail", "1", "--reporter", "json"];
  const run = spawnSync(
    process.execPath,
    [join(root, "node_modules/vitest/vitest.mjs"), ...args, ...tests],
    { cwd: copy, encoding: "utf8", timeout: PATIENCE_MS },
  );
  if (run.status === 0) return { kind: "Survived" } as const;
  return verdictOf(file, run.signal === null ? run.stderr : "the time limit");
}

function verdictOf(file: string, otherwise: string): Verdict {
  try {
    const { testResults }: Report = JSON.parse(readFileSync(file, "utf8"));
    const failed = testResults
      .flatMap(({ assertionResults }) => assertionResults)
      .find(({ status }) => status === "failed");
    if (failed !== undefined) return { kind: "Killed", by: failed.fullName };
    return { kind: "Broken", why: testResults.map(({ message }) => message).join(" ") };
  } catch {
    return otherwise === "the time limit"
      ? { kind: "Killed", by: otherwise }
      : { kind: "Broken", why: otherwise.slice(0, 300) };
  }
}

function main(): number {
  const { values } = parseArgs({ options: { only: { type: "string" }, json: { type: "string" } } });
  const chosen = mutants
    .map((mutant, index) => ({ mutant, number: index + 1 }))
    .filter(({ number }) => values.only === undefined || number === Number(values.only));
  const copy = copySources();
  const results: { name: string; verdict: Verdict }[] = [];
  try {
    for (const { mutant, number } of chosen) {
      const startedAt = Date.now();
      const verdict = judge(mutant, copy);
      results.push({ name: mutant.name, verdict });
      const seconds = ((Date.now() - startedAt) / 1_000).toFixed(1);
      const words = {
        Killed: () => `killed by: ${"by" in verdict ? verdict.by : ""}`,
        Survived: () => "SURVIVED",
        Broken: () => `BROKEN: ${"why" in verdict ? verdict.why : ""}`,
      }[verdict.kind]();
      console.log(`[${number}/${mutants.length}] ${seconds} s  ${mutant.name}: ${words}`);
    }
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
  return summarize(results, values.json);
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
  };
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(summary, undefined, 2)}\n`);
  console.log(`${summary.killed} of ${summary.total} mutants killed`);
  for (const name of summary.survivors) console.log(`  survived: ${name}`);
  for (const name of summary.broken) console.log(`  broken: ${name}`);
  return summary.killed === summary.total && summary.total > 0 ? 0 : 1;
}

process.exitCode = main();
