import { type Priority, priorities } from "./add-options.ts";
import { FairQueue, type WaitingKey } from "./fair-queue.ts";
import type { RunningKeys } from "./running-keys.ts";
import type { SlowGroups } from "./slow-groups.ts";

/** When and how a key is handed out next. */
export interface QueueEntry extends WaitingKey {
  readonly key: string;
  /** Monotonic. */
  readonly due: number;
  readonly priority: Priority;
  readonly bypassBackoff: boolean;
  readonly sequence: number;
}

interface ReadyOptions {
  readonly workers: number;
  readonly reservedWorkers: number;
  readonly running: RunningKeys;
  readonly slow: SlowGroups;
}

/** If no urgent key is next, every 16th turn goes to the longest-waiting key, so that no priority starves another. */
const FAIR_TURN = 16;
const LARGE = "large object";
/** A resource of its own: a hanging run over a large object does not delay an urgent one. */
const URGENT_LARGE = "urgent large object";

/** The resource of objects of which a controller works on one at a time. */
export function largeObject(isUrgent: boolean): string {
  return isUrgent ? URGENT_LARGE : LARGE;
}

/** The due keys, in the order in which they are handed out. */
export class ReadyKeys {
  readonly #options: ReadyOptions;
  readonly #queues: Readonly<Record<Priority, FairQueue<QueueEntry>>> = {
    urgent: new FairQueue(),
    change: new FairQueue(),
    requeue: new FairQueue(),
    retry: new FairQueue(),
    resync: new FairQueue(),
  };
  #turn = 0;

  constructor(options: ReadyOptions) {
    this.#options = options;
  }

  get size(): number {
    return priorities.reduce((sum, priority) => sum + this.#queues[priority].size, 0);
  }

  /** Infinite if no key is due. Takes time proportional to the number of groups. */
  get earliestDue(): number {
    const oldest = priorities.flatMap((priority) => [...this.#queues[priority].oldest()]);
    return oldest.reduce((earliest, { due }) => Math.min(earliest, due), Number.POSITIVE_INFINITY);
  }

  add(entry: QueueEntry): void {
    this.#queues[entry.priority].add(entry);
  }

  /** Returns whether the entry was due. */
  delete(entry: QueueEntry): boolean {
    return this.#queues[entry.priority].delete(entry);
  }

  /** Deletes an entry that is handed out, and ends its group's turn. */
  take(entry: QueueEntry): void {
    this.#queues[entry.priority].take(entry);
  }

  /** The entry to hand out next; `undefined` if no entry can be handed out now. */
  next(): QueueEntry | undefined {
    const { workers, reservedWorkers } = this.#options;
    const urgent = this.#first("urgent", workers + reservedWorkers);
    if (urgent !== undefined) return urgent;
    this.#turn = (this.#turn + 1) % FAIR_TURN;
    return this.#turn === 0 ? this.#longestWaiting() : this.#firstByPriority();
  }

  #firstByPriority(): QueueEntry | undefined {
    return priorities.reduceRight<QueueEntry | undefined>(
      (first, priority) => first ?? this.#first(priority),
      undefined,
    );
  }

  #longestWaiting(): QueueEntry | undefined {
    return priorities
      .map((priority) => this.#first(priority))
      .reduce(
        (first, entry) => (first && (!entry || isEarlier(first, entry)) ? first : entry),
        undefined,
      );
  }

  /** The entry with the next turn in this priority, if `workers` is the number of workers. */
  #first(priority: Priority, workers = this.#options.workers): QueueEntry | undefined {
    const { running, slow } = this.#options;
    const free = workers - running.size;
    if (free <= 0) return undefined;
    return this.#queues[priority].first(
      (resource) => running.at(resource) < (isLarge(resource) ? 1 : free),
      (group) => priority !== "urgent" || slow.isEligible(group, running.all(), free),
    );
  }
}

function isLarge(resource: string): boolean {
  return resource === LARGE || resource === URGENT_LARGE;
}

export function isEarlier(a: QueueEntry, b: QueueEntry): boolean {
  return a.due === b.due ? a.sequence < b.sequence : a.due < b.due;
}
