import { type Priority, priorities } from "./addition.ts";
import { FairLine, type WaitingKey } from "./fair-line.ts";
import type { RunningKeys } from "./running-keys.ts";
import type { SlowGroups } from "./slow-groups.ts";

/** What is wanted next of a key. */
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

/** One hand-out in so many goes to the key that waits longest, so that no priority starves another. */
const FAIR_TURN = 16;

/** Keys that are due, and whose turn it is. */
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

  /** Infinite where nothing is due. Looks at each group. */
  get earliestDue(): number {
    const oldest = priorities.flatMap((priority) => [...this.#lines[priority].oldest()]);
    return oldest.reduce((earliest, { due }) => Math.min(earliest, due), Number.POSITIVE_INFINITY);
  }

  add(plan: Plan): void {
    this.#lines[plan.priority].add(plan);
  }

  /** Says whether the plan was here. */
  delete(plan: Plan): boolean {
    return this.#lines[plan.priority].delete(plan);
  }

  /** Deletes a plan because it is carried out. */
  take(plan: Plan): void {
    this.#lines[plan.priority].take(plan);
  }

  /** Which plan is to be carried out next; `undefined` where none may be now. */
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

  /** Whose turn it is in this priority, with so many workers. */
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
