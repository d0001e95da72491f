/** One piece of work for one thread: some runs, one after the other. */
import { NO_FAULTS } from "./faults.ts";
import { breaks, perform, plansOf, runOfSeed, type SelectedRun, shrunk } from "./run-selection.ts";
import { count, newTally, type Tally } from "./tally.ts";

export type WorkerTask =
  /** Single faults of a scenario, by their numbers. */
  | { readonly kind: "plans"; readonly scenario: string; readonly numbers: readonly number[] }
  | { readonly kind: "seeds"; readonly from: number; readonly count: number };

export async function work(task: WorkerTask): Promise<Tally> {
  const tally = newTally();
  for await (const selected of runsOf(task)) await carryOut(selected, tally);
  return tally;
}

async function* runsOf(task: WorkerTask): AsyncGenerator<SelectedRun> {
  if (task.kind === "seeds") {
    for (let index = 0; index < task.count; index += 1) yield runOfSeed(task.from + index);
    return;
  }
  const { scenario, numbers } = task;
  const plans = await plansOf(scenario);
  for (const number of numbers)
    yield { scenario, plan: plans[number] ?? NO_FAULTS, options: { seed: 1 } };
}

async function carryOut(selected: SelectedRun, tally: Tally): Promise<void> {
  try {
    await judge(selected, tally);
  } catch (error) {
    // A bug of the simulation must not cost the other runs, and must be seen.
    const violations = [{ invariant: "simulation", what: String(error), at: 0 }];
    tally.failures.push({ selected, violations, replay: replayOf(selected, selected) });
  }
}

async function judge(selected: SelectedRun, tally: Tally): Promise<void> {
  const judged = await perform(selected);
  count(tally, judged);
  const [first] = judged.violations;
  if (first === undefined) return;
  const smallest = await shrunk(selected, (smaller) => breaks(smaller, first.invariant));
  tally.failures.push({
    selected: smallest,
    violations: judged.violations,
    replay: replayOf(selected, smallest),
  });
}

function replayOf({ plan, options, scenario }: SelectedRun, smallest: SelectedRun): string {
  if (!plan.name.startsWith("random "))
    return `npm run sim -- --scenario '${scenario}' --plan '${plan.name}'`;
  const kept = smallest.plan.faults.map((fault) => plan.faults.indexOf(fault));
  return `npm run sim -- --seed ${options.seed} --keep ${kept.join(",")}`;
}
