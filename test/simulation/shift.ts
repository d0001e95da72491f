/** One piece of work for one thread: some runs, one after the other. */
import { NO_FAULTS } from "./faults.ts";
import { breaks, type Order, orderOfSeed, perform, plansOf, shrunk } from "./orders.ts";
import { count, newTally, type Tally } from "./tally.ts";

export type Shift =
  /** Single faults of a scenario, by their numbers. */
  | { readonly kind: "plans"; readonly scenario: string; readonly numbers: readonly number[] }
  | { readonly kind: "seeds"; readonly from: number; readonly count: number };

export async function work(shift: Shift): Promise<Tally> {
  const tally = newTally();
  for await (const order of ordersOf(shift)) await carryOut(order, tally);
  return tally;
}

async function* ordersOf(shift: Shift): AsyncGenerator<Order> {
  if (shift.kind === "seeds") {
    for (let index = 0; index < shift.count; index += 1) yield orderOfSeed(shift.from + index);
    return;
  }
  const { scenario, numbers } = shift;
  const plans = await plansOf(scenario);
  for (const number of numbers)
    yield { scenario, plan: plans[number] ?? NO_FAULTS, options: { seed: 1 } };
}

async function carryOut(order: Order, tally: Tally): Promise<void> {
  try {
    await judge(order, tally);
  } catch (error) {
    // A bug of the simulation must not cost the other runs, and must be seen.
    const violations = [{ invariant: "simulation", what: String(error), at: 0 }];
    tally.failures.push({ order, violations, replay: replayOf(order, order) });
  }
}

async function judge(order: Order, tally: Tally): Promise<void> {
  const judged = await perform(order);
  count(tally, judged);
  const [first] = judged.violations;
  if (first === undefined) return;
  const smallest = await shrunk(order, (smaller) => breaks(smaller, first.invariant));
  tally.failures.push({
    order: smallest,
    violations: judged.violations,
    replay: replayOf(order, smallest),
  });
}

function replayOf({ plan, options, scenario }: Order, smallest: Order): string {
  if (!plan.name.startsWith("random "))
    return `npm run sim -- --scenario '${scenario}' --plan '${plan.name}'`;
  const kept = smallest.plan.faults.map((fault) => plan.faults.indexOf(fault));
  return `npm run sim -- --seed ${options.seed} --keep ${kept.join(",")}`;
}
