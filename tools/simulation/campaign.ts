/** Which tasks a campaign is made of, and how it goes on where it was interrupted. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { allScenarios } from "./all-scenarios.ts";
import type { Plan } from "./faults.ts";
import { baselineOf } from "./run-selection.ts";
import type { Scenario } from "./scenarios.ts";
import { labelOf, merge, newTally, type Tally } from "./tally.ts";
import type { WorkerTask } from "./worker-task.ts";

const RUNS_A_SHIFT = 25;
/** In a scenario without faults, but for those with a lease. */
const EVENTS_OF_MOST = 450;

/**
 * Single faults: of whatever can be struck, each fault once, and about every `every`th of all besides; other ones in
 * each scenario, and far fewer of those that take long.
 */
export async function* planTasks(
  every = 1,
  chosen: readonly Scenario[] = allScenarios,
  only = /^/,
): AsyncGenerator<WorkerTask> {
  const known = new Set<string>();
  for (const [index, { name: scenario }] of chosen.entries()) {
    const { plans, events } = await baselineOf(scenario);
    const step = every === 1 ? 1 : Math.ceil(every * (events / EVENTS_OF_MOST) ** 2);
    const numbers = [...plans.keys()].filter((number) => {
      if (!only.test(plans[number]?.name ?? "")) return false;
      const kind = kindOf(plans[number]);
      const isNew = !known.has(kind);
      known.add(kind);
      return isNew || (number + index) % step === 0;
    });
    for (let at = 0; at < numbers.length; at += RUNS_A_SHIFT) {
      yield { kind: "plans", scenario, numbers: numbers.slice(at, at + RUNS_A_SHIFT) };
    }
  }
}

/** What is struck by what. */
function kindOf(plan: Plan | undefined): string {
  const fault = plan?.faults[0];
  if (fault === undefined) return "";
  if (fault.on === "world") return `world ${labelOf(fault.event)}`;
  const { server, operation } =
    fault.on === "call" ? fault.select : { server: "", operation: fault.plural };
  return `${server} ${operation} ${labelOf(fault.fault)}`;
}

/** The first of `count` seeds that no run of another second begins with, unless the environment names one. */
export function firstSeedOf(named: string | undefined, now: number, count: number): number {
  const seed = Number(named ?? Math.floor(now / 1_000) * count);
  if (!Number.isSafeInteger(seed)) throw new Error(`SIM_SEED is ${named}, which is no seed`);
  return seed;
}

export function* seedTasks(first: number, count: number): Generator<WorkerTask> {
  for (let from = first; from < first + count; from += RUNS_A_SHIFT) {
    yield { kind: "seeds", from, count: Math.min(RUNS_A_SHIFT, first + count - from) };
  }
}

/** What has been done of a long campaign, in a file. */
export class Logbook {
  readonly #path: string;
  readonly #done: Set<number>;
  readonly before: Tally = newTally();

  constructor(path: string) {
    this.#path = path;
    const known = existsSync(path)
      ? (JSON.parse(readFileSync(path, "utf8")) as { done: number[]; tally: Tally })
      : undefined;
    this.#done = new Set(known?.done);
    if (known !== undefined) merge(this.before, known.tally);
  }

  async *rest(tasks: AsyncIterable<WorkerTask>): AsyncGenerator<WorkerTask> {
    for await (const task of tasks) {
      if (task.kind === "plans" || !this.#done.has(task.from)) yield task;
    }
  }

  note(task: WorkerTask): void {
    if (task.kind === "seeds") this.#done.add(task.from);
  }

  /** `now`: what has come in since this logbook was opened. */
  save(now: Tally): void {
    const tally = newTally();
    merge(tally, this.before);
    merge(tally, now);
    writeFileSync(this.#path, JSON.stringify({ done: [...this.#done], tally }));
  }
}
