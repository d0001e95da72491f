/** Which runs there are, and how each of them is judged. */
import { allScenarios, scenarioNamed } from "./all-scenarios.ts";
import { NO_FAULTS, type Plan } from "./faults.ts";
import { differenceOf } from "./final-state.ts";
import { isCapped } from "./invariants/at-rest.ts";
import type { Violation } from "./invariants.ts";
import { allPlans } from "./plans.ts";
import { randomOptions, randomPlan } from "./random-plan.ts";
import { leaderPlans } from "./replica-plans.ts";
import { type Run, type RunOptions, runPlan } from "./run-plan.ts";

/** Everything a run depends on. */
export interface SelectedRun {
  readonly scenario: string;
  readonly plan: Plan;
  readonly options: RunOptions;
}

export interface Judged {
  readonly run: Run;
  readonly violations: readonly Violation[];
}

/** A run without faults: what may go wrong in the others, and what they must come to. */
export interface Baseline {
  /** The single faults of the scenario. */
  readonly plans: readonly Plan[];
  readonly events: number;
  readonly finalState: readonly string[];
}

const baselines = new Map<string, Baseline>();

/** The single faults of a scenario. */
export async function plansOf(scenario: string): Promise<readonly Plan[]> {
  return (await baselineOf(scenario)).plans;
}

/** The run of a seed: some scenario, some console, some faults. */
export async function runOfSeed(seed: number): Promise<SelectedRun> {
  const scenario = allScenarios[seed % allScenarios.length]?.name ?? "";
  const plan = randomPlan(seed, await plansOf(scenario));
  return { scenario, plan, options: randomOptions(seed) };
}

export async function perform({ scenario, plan, options }: SelectedRun): Promise<Judged> {
  const known = scenarioNamed(scenario);
  const { finalState } = await baselineOf(known.endsAs ?? scenario);
  const run = await runPlan(known, plan, options);
  const what = differenceOf(finalState, run.finalState);
  const isCut = run.world.kube.storage.all.some(({ object }) => isCapped(object));
  const isExcused = run.excused.has("same end") || isCut || run.violations.length > 0;
  const other =
    what === undefined || isExcused ? [] : [{ invariant: "same end", what, at: run.quietSince }];
  return { run, violations: [...run.violations, ...other] };
}

/** The same run with as few of its faults as it takes for `fails` to hold. */
export async function shrunk(
  selected: SelectedRun,
  fails: (smaller: SelectedRun) => Promise<boolean>,
): Promise<SelectedRun> {
  for (const dropped of selected.plan.faults) {
    if (selected.plan.faults.length < 2) return selected;
    const faults = selected.plan.faults.filter((fault) => fault !== dropped);
    const smaller = { ...selected, plan: { ...selected.plan, faults } };
    if (await fails(smaller)) return shrunk(smaller, fails);
  }
  return selected;
}

/** Whether a run breaks that promise. */
export async function breaks(selected: SelectedRun, invariant: string): Promise<boolean> {
  const { violations } = await perform(selected);
  return violations.some((each) => each.invariant === invariant);
}

export async function baselineOf(name: string): Promise<Baseline> {
  const found = baselines.get(name);
  if (found !== undefined) return found;
  const run = await runPlan(scenarioNamed(name), NO_FAULTS, { seed: 1 });
  const { journal, unleashedAt, replicas } = run.world;
  const early = run.calls.filter(({ sentAt }) => sentAt < run.quietSince);
  const ofLeaders = replicas.size > 1 ? leaderPlans(early, unleashedAt) : [];
  const plans = [...allPlans(journal, unleashedAt), ...ofLeaders];
  const baseline = { plans, events: run.events, finalState: run.finalState };
  baselines.set(name, baseline);
  return baseline;
}
