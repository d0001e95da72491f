/**
 * Runs the operator in simulated worlds with faults.
 *
 *   npm run sim                                   every scenario, without faults
 *   npm run sim -- --plans [--every N]            every single fault of every scenario, or about every Nth;
 *                                                 --only REGEX: those whose names match
 *   npm run sim -- --seeds N [--seed S]           many faults by chance, from seed S on
 *   npm run sim -- --seed S [--keep 0,2]          one seed again, with all of its faults or with some
 *   npm run sim -- --plan TEXT [--scenario NAME]  the single faults whose names have this text, such as Intercept
 *   npm run sim -- --years 2 [--keys N]           many keys for a long time, with outages
 *   npm run sim -- --small-scope DEPTH            every order of events while two replicas issue two keys,
 *                                                 --keys 3 for three; --blows N to the leader, --every N, one --path again
 *
 * Any of them: --scenario NAME, --threads N, --json FILE, --trace. Seeds: --state FILE goes on where it was left.
 */
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { readFlags } from "../../scripts/flags.ts";
import { allScenarios } from "./all-scenarios.ts";
import { Logbook, planTasks, seedTasks } from "./campaign.ts";
import { summaryOf, writeCoverage } from "./coverage.ts";
import { NO_FAULTS } from "./faults.ts";
import { describeCall } from "./journal.ts";
import { type Judged, perform, plansOf, runOfSeed, type SelectedRun } from "./run-selection.ts";
import type { Scenario } from "./scenarios.ts";
import { runSmallScope } from "./small-scope-command.ts";
import { count, type Failure, merge, newTally, type Tally } from "./tally.ts";
import { runTasks } from "./worker-pool.ts";
import type { WorkerTask } from "./worker-task.ts";
import { runYears } from "./years-command.ts";

const values = readFlags("sim", {
  plans: { type: "boolean", default: false },
  every: { type: "string", default: "1" },
  only: { type: "string", default: "" },
  seeds: { type: "string" },
  seed: { type: "string" },
  keep: { type: "string" },
  scenario: { type: "string" },
  plan: { type: "string" },
  years: { type: "string" },
  keys: { type: "string" },
  "small-scope": { type: "string" },
  blows: { type: "string", default: "1" },
  path: { type: "string" },
  threads: { type: "string", default: String(availableParallelism()) },
  state: { type: "string" },
  json: { type: "string" },
  trace: { type: "boolean", default: false },
});

const NEWS_MS = 10_000;
const SHOWN = 10;
const started = performance.now();
const chosen = allScenarios.filter(({ name }) => name === (values.scenario ?? name));
if (chosen.length === 0) throw new Error(`there is no scenario "${values.scenario}"`);

if (values["small-scope"] !== undefined) await smallScope(Number(values["small-scope"]));
else if (values.years !== undefined) await years(Number(values.years));
else if (values.plan !== undefined || isOneSeed()) await again();
else await campaign();

function isOneSeed(): boolean {
  return values.seed !== undefined && values.seeds === undefined && !values.plans;
}

async function smallScope(depth: number): Promise<void> {
  const { blows, keys = 2, every, path, json } = values;
  const command = {
    depth,
    blows: Number(blows),
    keys: Number(keys),
    every: Number(every),
    path,
    json,
  };
  process.exitCode = await runSmallScope(command);
}

async function years(count: number): Promise<void> {
  const { keys, seed = "1", threads } = values;
  const { violations, ...found } = await runYears({
    years: count,
    keys: Number(keys ?? 1_000),
    seed: Number(seed),
    threads: Number(threads),
    onProgress: (line) => say(`${line}, ${seconds()} s`),
  });
  for (const each of violations.slice(0, SHOWN)) console.log(JSON.stringify(each));
  finish({ years: count, ...found, violations: violations.length, details: violations });
}

/** In this thread, so that a debugger and a profiler see it. */
async function again(): Promise<void> {
  const tally = newTally();
  for (const selected of await selectedRuns()) {
    const judged = await perform(selected);
    count(tally, judged);
    if (values.trace) trace(judged);
    if (judged.violations.length > 0) {
      const failure = { selected, violations: judged.violations, replay: "" };
      tally.failures.push(failure);
      tell(failure);
    }
  }
  if (tally.runs === 0) throw new Error("there is no such plan");
  report(tally, 0);
}

async function selectedRuns(): Promise<readonly SelectedRun[]> {
  const seed = Number(values.seed ?? 1);
  if (isOneSeed()) {
    const selected = await runOfSeed(seed);
    const kept = values.keep?.split(",").map(Number);
    const faults = selected.plan.faults.filter((_, index) => kept?.includes(index) ?? true);
    return [{ ...selected, plan: { ...selected.plan, faults } }];
  }
  const found: SelectedRun[] = [];
  for (const { name } of chosen) {
    const plans = [NO_FAULTS, ...(await plansOf(name))];
    for (const plan of plans) {
      if (!plan.name.includes(values.plan ?? "")) continue;
      found.push({ scenario: name, plan, options: { seed } });
    }
  }
  return found;
}

function trace({ run }: Judged): void {
  const { calls, world, digest } = run;
  for (const call of calls) console.log(Math.round(call.sentAt), describeCall(call));
  for (const line of world.logs) console.log(line);
  for (const line of run.finalState) console.log(line);
  console.log(JSON.stringify(run.plan.faults), digest);
}

async function campaign(): Promise<void> {
  const logbook = values.state === undefined ? undefined : new Logbook(values.state);
  const seeds = Number(values.seeds ?? 0);
  const tasks = chosenTasks(seeds);
  const rest = logbook === undefined ? tasks : logbook.rest(tasks);
  let saidAt = 0;
  let told = 0;
  const onProgress = (soFar: Tally, task: WorkerTask) => {
    logbook?.note(task);
    for (const failure of soFar.failures.slice(told, SHOWN)) tell(failure);
    told = soFar.failures.length;
    if (performance.now() - saidAt > NEWS_MS) {
      saidAt = performance.now();
      logbook?.save(soFar);
      say(`${soFar.runs} runs, ${soFar.failures.length} with violations, ${seconds()} s`);
    }
    return true;
  };
  const tally = await runTasks(rest, { threads: Number(values.threads), onProgress });
  logbook?.save(tally);
  if (logbook !== undefined) merge(tally, logbook.before);
  report(tally, seeds);
}

async function* chosenTasks(seeds: number): AsyncGenerator<WorkerTask> {
  if (values.plans || seeds === 0) yield* chosen.map(faultless);
  if (values.plans) yield* planTasks(Number(values.every), chosen, new RegExp(values.only));
  yield* seedTasks(Number(values.seed ?? 1), seeds);
}

function faultless({ name }: Scenario): WorkerTask {
  return { kind: "plans", scenario: name, numbers: [-1] };
}

/** Failures are told as they come. */
function tell({ selected, violations, replay }: Failure): void {
  console.log(`${selected.scenario}: ${JSON.stringify(selected.plan.faults)}`);
  for (const { invariant, what, at } of violations) console.log(`  ${at} ms ${invariant}: ${what}`);
  if (replay !== "") console.log(`  again: ${replay}`);
}

function report(tally: Tally, seeds: number): void {
  const { failures, runs, complete, coverage } = tally;
  if (failures.length > SHOWN) console.log(`and ${failures.length - SHOWN} more`);
  const byInvariant = Object.groupBy(
    failures.flatMap(({ violations }) => violations),
    ({ invariant }) => invariant,
  );
  say(`the table of what was struck by what is in ${writeCoverage(coverage)}`);
  finish({
    plans: runs - seeds,
    seeds,
    complete,
    violations: failures.length,
    byInvariant: Object.fromEntries(
      Object.entries(byInvariant).map(([name, all]) => [name, all?.length ?? 0]),
    ),
    coverage: summaryOf(coverage),
    details: failures,
  });
}

/** The last line is the summary, for people and programs; the file has the details as well. */
function finish(outcome: Readonly<Record<string, unknown>> & { violations: number }): void {
  const { details, ...summary } = outcome;
  const whole = { ...summary, seconds: seconds() };
  if (values.json !== undefined) {
    writeFileSync(values.json, JSON.stringify({ ...whole, details }, null, 1));
  }
  console.log(JSON.stringify(whole));
  process.exitCode = outcome.violations > 0 ? 1 : 0;
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

function seconds(): number {
  return Math.round((performance.now() - started) / 100) / 10;
}
