/**
 * Runs the operator in simulated worlds with faults.
 * `node test/simulation/sim.ts [--plans] [--seeds N] [--seed S] [--scenario NAME] [--plan TEXT] [--every N] [--json FILE] [--trace]`
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { NO_FAULTS, type Plan } from "./faults.ts";
import { describeCall } from "./journal.ts";
import { callPlans, watchPlans, withoutPolling, worldPlans } from "./plans.ts";
import { randomPlan } from "./random-plan.ts";
import { RECOVERY_MS, type Run, runPlan } from "./run-plan.ts";
import { type Scenario, scenarios } from "./scenarios.ts";

const { values } = parseArgs({
  options: {
    plans: { type: "boolean", default: false },
    seeds: { type: "string", default: "0" },
    seed: { type: "string", default: "1" },
    scenario: { type: "string" },
    plan: { type: "string" },
    every: { type: "string", default: "1" },
    json: { type: "string" },
    trace: { type: "boolean", default: false },
  },
});

const seed = Number(values.seed);
const started = performance.now();
const coverage = new Map<string, number>();
const failed: Run[] = [];
let runs = 0;
let complete = 0;

const chosen = scenarios.filter(
  ({ name }) => values.scenario === undefined || name === values.scenario,
);
for (const scenario of chosen) await explore(scenario);
for (let index = 0; index < Number(values.seeds); index += 1) {
  const scenario = chosen[(seed + index) % chosen.length];
  if (scenario !== undefined) await note(scenario, randomPlan(seed + index), seed + index);
}
report();

async function explore(scenario: Scenario): Promise<void> {
  const faultless = await note(scenario, NO_FAULTS, seed);
  if (!values.plans) return;
  // A fault must leave time to get over it.
  const early = faultless.calls.filter(({ sentAt }) => sentAt < faultless.quietSince - RECOVERY_MS);
  const calls = withoutPolling(early);
  const plans = [
    ...callPlans(calls),
    ...watchPlans(["apikeys", "serviceaccounts", "policybindings", "clusterconnections"]),
    ...worldPlans([50, 300, 700, 1_500, 60_000]),
  ].filter(({ name }) => values.plan === undefined || name.includes(values.plan));
  const every = Number(values.every);
  for (const [index, plan] of plans.entries()) {
    if (index % every === 0) await note(scenario, plan, seed);
  }
}

async function note(scenario: Scenario, plan: Plan, at: number): Promise<Run> {
  const run = await runPlan(scenario, plan, { seed: at });
  runs += 1;
  if (run.isComplete) complete += 1;
  for (const fault of run.world.faults.struck) {
    const kind = fault.on === "world" ? fault.event.kind : fault.fault.kind;
    coverage.set(kind, (coverage.get(kind) ?? 0) + 1);
  }
  if (run.violations.length > 0) failed.push(run);
  if (runs % 50 === 0) progress(`${runs} runs`);
  if (values.trace) trace(run);
  return run;
}

function trace({ calls, world, digest }: Run): void {
  for (const call of calls) console.log(Math.round(call.sentAt), describeCall(call));
  for (const line of world.logs) if (!line.includes(" debug ")) console.log(line);
  console.log(digest);
}

function progress(text: string): void {
  console.log(`${text}, ${failed.length} with violations, ${seconds()} s`);
}

function seconds(): number {
  return Math.round((performance.now() - started) / 100) / 10;
}

function report(): void {
  const violations = failed.map(({ scenario, plan, seed: at, violations: found }) => ({
    scenario,
    plan: plan.name,
    seed: at,
    faults: plan.faults,
    violations: found,
  }));
  const byInvariant = Map.groupBy(
    violations.flatMap((each) => each.violations),
    ({ invariant }) => invariant,
  );
  for (const each of violations.slice(0, 10)) console.log(JSON.stringify(each));
  const summary = {
    plans: runs,
    complete,
    seeds: Number(values.seeds),
    violations: violations.length,
    byInvariant: Object.fromEntries([...byInvariant].map(([name, all]) => [name, all.length])),
    coverage: Object.fromEntries(coverage),
    seconds: seconds(),
  };
  console.log(JSON.stringify(summary));
  if (values.json !== undefined) {
    writeFileSync(values.json, JSON.stringify({ ...summary, details: violations }, null, 1));
  }
  process.exit(violations.length > 0 ? 1 : 0);
}
