/**
 * Virtual time and one queue of events, on one thread.
 *
 * Guarantees: events run one after the other in the order of (virtual time, seeded tie-break); whatever promises
 * an event settles have had their say before the next one starts; the same seed gives the same order.
 *
 * Assumptions: what runs in here waits for nothing but this kernel. A real timer or a real socket would come
 * in between at a moment that no seed decides.
 */
import { createHash } from "node:crypto";
import type { Instant } from "../../src/util/time.ts";
import { type SeededRandom, seededRandom } from "../../test/support/seeded-random.ts";
import { EventQueue, type Label, type QueuedEvent } from "./event-queue.ts";

export interface RunLimits {
  /** Stops before the first event later than this (virtual milliseconds since the start). */
  readonly until: number;
  /** Stops as soon as this holds after an event. */
  readonly while?: () => boolean;
  /** A run that never comes to rest ends with an error. */
  readonly maxEvents?: number;
}

const START: Instant = Date.UTC(2026, 0, 1);
const MAX_EVENTS = 5_000_000;
/** Characters; hashing line by line would cost more than the lines. */
const HASH_AT_ONCE = 65_536;

export class Kernel {
  readonly random: SeededRandom;
  readonly #ties: SeededRandom;
  readonly #queue = new EventQueue();
  readonly #hash = createHash("sha256");
  #unhashed = "";
  readonly #observers: (() => void)[] = [];
  #elapsed = 0;
  #sequence = 0;
  #events = 0;

  constructor(seed: number) {
    this.random = seededRandom(seed);
    this.#ties = seededRandom(`ties:${seed}`);
  }

  /** Virtual milliseconds since the start. */
  get elapsed(): number {
    return this.#elapsed;
  }

  /** The true time of the world; processes may see another one. */
  get now(): Instant {
    return START + this.#elapsed;
  }

  get events(): number {
    return this.#events;
  }

  /** Has `run` happen after `ms`; the returned function cancels it. What goes over a network has a label. */
  schedule(ms: number, run: () => void, label?: () => Label): () => void {
    this.#sequence += 1;
    const event: QueuedEvent = {
      at: this.#elapsed + Math.max(0, ms),
      tie: this.#ties.fraction(),
      sequence: this.#sequence,
      run,
      ...(label === undefined ? {} : { label }),
      cancelled: false,
    };
    this.#queue.push(event);
    return () => {
      event.cancelled = true;
    };
  }

  /** Adds a line to what the run's hash is taken over. */
  note(line: string): void {
    this.#unhashed += `${this.#elapsed} ${line}\n`;
    if (this.#unhashed.length > HASH_AT_ONCE) this.#hashNotes();
  }

  /** What has been noted so far, in short: equal for equal runs. */
  get digest(): string {
    this.#hashNotes();
    return this.#hash.copy().digest("hex");
  }

  #hashNotes(): void {
    this.#hash.update(this.#unhashed);
    this.#unhashed = "";
  }

  /** Calls `observe` after every event. */
  afterEachEvent(observe: () => void): void {
    this.#observers.push(observe);
  }

  /** Runs events until none is left within the limits; time then stands at the limit, or at the last event. */
  async run({ until, while: goOn, maxEvents = MAX_EVENTS }: RunLimits): Promise<void> {
    await promisesSettled();
    for (let count = 0; goOn === undefined || goOn(); count += 1) {
      const next = this.#queue.peek();
      if (next === undefined || next.at > until) {
        this.#elapsed = Math.max(this.#elapsed, Math.min(until, Number.MAX_SAFE_INTEGER));
        return;
      }
      if (count >= maxEvents) throw new Error(`no rest after ${maxEvents} events`);
      await this.#step();
    }
  }

  /** Runs for `ms` of virtual time. */
  advance(ms: number): Promise<void> {
    return this.run({ until: this.#elapsed + ms });
  }

  /** What has not happened yet, in the order in which it would. */
  get waiting(): readonly QueuedEvent[] {
    return this.#queue.waiting.toSorted((a, b) => a.at - b.at || a.sequence - b.sequence);
  }

  /** Has one of the waiting events happen now, before all others. */
  async runNow(event: QueuedEvent): Promise<void> {
    event.cancelled = true;
    await this.#happen(event);
  }

  async #step(): Promise<void> {
    const event = this.#queue.pop();
    if (event !== undefined) await this.#happen(event);
  }

  async #happen(event: QueuedEvent): Promise<void> {
    // Somebody may have let time pass by it.
    this.#elapsed = Math.max(this.#elapsed, event.at);
    this.#events += 1;
    event.run();
    await promisesSettled();
    for (const observe of this.#observers) observe();
  }
}

/**
 * Resolves when every promise that can settle without an event has. Node takes up what is handed to `nextTick`
 * only once no promise has anything left to do.
 */
function promisesSettled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
