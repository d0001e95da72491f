import { type Priority, priorities } from "./addition.ts";
import { FairLine, type WaitingKey } from "./fair-line.ts";
import type { RunningKeys } from "./running-keys.ts";
import type { SlowGroups } from "./slow-groups.ts";

/** When and how a key is handed out next. */
export interface Plan extends WaitingKey {
  readonly key: string;
  /** Monotonic. */
  readonly due: number;
  readonly priority: Priority;
  readonly endsHold: boolean;
  readonly sequence: number;
}

export interface ReadyOptions {
  readonly workers: number;
  readonly reservedWorkers: number;
  readonly running: RunningKeys;
  readonly slow: SlowGroups;
}

/** If no urgent key is next, every 16th turn goes to the longest-waiting key, so that no priority starves another. */
const FAIR_TURN = 16;

/** The due keys, in the order in which they are handed out. */
export class ReadyKeys {
  readonly #options: ReadyOptions;
  readonly #lines: Readonly<Record<Priority, FairLine<Plan>>> = {
    urgent: new FairLine(),
    change: new FairLine(),
    requeue: new FairLine(),
    retry: new FairLine(),
    resync: new FairLine(),
  };
  #turn = 0;

  constructor(options: ReadyOptions) {
    this.#options = options;
  }

  get size(): number {
    return priorities.reduce((sum, priority) => sum + this.#lines[priority].size, 0);
  }

  /** Infinite if no key is due. Takes time proportional to the number of groups. */
  get earliestDue(): number {
    const oldest = priorities.flatMap((priority) => [...this.#lines[priority].oldest()]);
    return oldest.reduce((earliest, { due }) => Math.min(earliest, due), Number.POSITIVE_INFINITY);
  }

  add(plan: Plan): void {
    this.#lines[plan.priority].add(plan);
  }

  /** Returns whether the plan was due. */
  delete(plan: Plan): boolean {
    return this.#lines[plan.priority].delete(plan);
  }

  /** Deletes a plan that is handed out, and ends its group's turn. */
  take(plan: Plan): void {
    this.#lines[plan.priority].take(plan);
  }

  /** The plan to hand out next; `undefined` if no plan can be handed out now. */
  next(): Plan | undefined {
    const { workers, reservedWorkers } = this.#options;
    const urgent = this.#first("urgent", workers + reservedWorkers);
    if (urgent !== undefined) return urgent;
    this.#turn = (this.#turn + 1) % FAIR_TURN;
    return this.#turn === 0 ? this.#longestWaiting() : this.#firstByPriority();
  }

  #firstByPriority(): Plan | undefined {
    return priorities.reduceRight<Plan | undefined>(
      (first, priority) => first ?? this.#first(priority),
      undefined,
    );
  }

  #longestWaiting(): Plan | undefined {
    return priorities
      .map((priority) => this.#first(priority))
      .reduce(
        (first, plan) => (first && (!plan || isEarlier(first, plan)) ? first : plan),
        undefined,
      );
  }

  /** The plan with the next turn in this priority, if `workers` is the number of workers. */
  #first(priority: Priority, workers = this.#options.workers): Plan | undefined {
    const { running, slow } = this.#options;
    const free = workers - running.size;
    if (free <= 0) return undefined;
    return this.#lines[priority].first(
      (resource) => running.at(resource) < free,
      (group) => priority !== "urgent" || slow.mayHaveTurn(group, running.all(), free),
    );
  }
}

export function isEarlier(a: Plan, b: Plan): boolean {
  return a.due === b.due ? a.sequence < b.sequence : a.due < b.due;
}
