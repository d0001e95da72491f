import type { Clock } from "../util/time.ts";
import { type AddOptions, higher } from "./add-options.ts";
import { Heap } from "./heap.ts";
import { isEarlier, type QueueEntry, ReadyKeys } from "./ready-keys.ts";
import { RunningKeys } from "./running-keys.ts";
import { SlowGroups } from "./slow-groups.ts";

/** The properties of a key that decide its order, in addition to its priority. */
export interface KeyTraits {
  /** Groups take turns. */
  readonly group: string;
  /** The resource that the work waits for. No resource has more workers than it leaves free for the others. */
  readonly resource: string;
  /** The key is handed out before all others and can use the reserved workers. */
  readonly isUrgent: boolean;
}

interface QueueOptions {
  readonly hooks?: QueueHooks;
  /** Called whenever a key is added. By default all keys are in one group and only their priority makes them urgent. */
  readonly traitsOf?: (key: string) => KeyTraits;
  /** How many keys can be in work at once. Unlimited by default. */
  readonly workers?: number;
  /** Additional workers, for urgent keys only. None by default. */
  readonly reservedWorkers?: number;
}

export interface QueueHooks {
  /** A key became due. */
  readonly onDue?: () => void;
  /** A key was handed out after it had been due for `waitedMs`. */
  readonly onStart?: (waitedMs: number) => void;
  readonly onDone?: (workedMs: number) => void;
}

const plainTraits: KeyTraits = { group: "", resource: "", isUrgent: false };

/**
 * A queue of keys to work on, each at most once.
 *
 * Guarantees: a key is never in work twice at once. A key added while it is in work is handed out again afterwards.
 * Of several additions, the earliest due time and the highest priority win. An added key is not lost before it is
 * handed out. During a hold, a key becomes due only by an addition with `bypassBackoff`. Urgent keys go first; within
 * each other priority, groups take turns. While one resource hangs, at least half of the workers serve the others:
 * a resource gets another worker only if more workers are free than it already has.
 *
 * Assumptions: every caller that takes a key calls {@link WorkQueue.done} for it, even after a failure.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #hooks: QueueHooks;
  readonly #traitsOf: (key: string) => KeyTraits;
  /** The next entry of each key. Entries of running keys are only in this map. */
  readonly #entries = new Map<string, QueueEntry>();
  readonly #later = new Heap<QueueEntry>(isEarlier);
  readonly #ready: ReadyKeys;
  readonly #running = new RunningKeys();
  readonly #slow = new SlowGroups();
  readonly #holds = new Map<string, number>();
  readonly #takers = new Set<(key: string | undefined) => void>();
  readonly #idlers = new Set<() => void>();
  #timer: { readonly due: number; readonly cancel: () => void } | undefined;
  #sequence = 0;
  #closed = false;

  constructor(clock: Clock, options: QueueOptions = {}) {
    this.#clock = clock;
    this.#hooks = options.hooks ?? {};
    this.#traitsOf = options.traitsOf ?? (() => plainTraits);
    const { workers = Number.POSITIVE_INFINITY, reservedWorkers = 0 } = options;
    this.#ready = new ReadyKeys({
      workers,
      reservedWorkers,
      running: this.#running,
      slow: this.#slow,
    });
  }

  /** Adds the key, or merges the addition into its entry. Ignored once the queue is closed. */
  add(key: string, options: AddOptions = {}): void {
    if (this.#closed) return;
    const old = this.#entries.get(key);
    const entry = this.#entryOf(key, options, old);
    // A key that is already due keeps its place.
    if (old !== undefined && isSame(old, entry)) return;
    const wasDue = old !== undefined && this.#unplace(old);
    this.#entries.set(key, entry);
    if (!this.#running.has(key)) this.#place(entry, wasDue);
    this.#dispatch();
  }

  /** Waits for the next key. `undefined` once the queue is closed or the signal is aborted. */
  next(signal?: AbortSignal): Promise<string | undefined> {
    if (this.#closed || signal?.aborted) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const take = (key: string | undefined) => {
        signal?.removeEventListener("abort", abort);
        resolve(key);
      };
      const abort = () => {
        this.#takers.delete(take);
        take(undefined);
      };
      signal?.addEventListener("abort", abort, { once: true });
      this.#takers.add(take);
      this.#dispatch();
    });
  }

  /** Whether the key is in work because of an addition with `bypassBackoff`. */
  isRequested(key: string): boolean {
    return this.#running.isRequested(key);
  }

  /** Ends the work on a key, whether it succeeded or not. */
  done(key: string, succeeded = true): void {
    const ended = this.#running.end(key);
    if (ended === undefined) return;
    const workedMs = this.#clock.monotonic() - ended.startedAt;
    this.#slow.note(ended, workedMs, succeeded);
    this.#hooks.onDone?.(workedMs);
    const entry = this.#entries.get(key);
    if (entry !== undefined) this.#place(entry, false);
    this.#dispatch();
  }

  /** Stops handing out and accepting keys. Running keys continue. */
  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const take of this.#takers) take(undefined);
    this.#takers.clear();
    this.#wakeIdlers();
  }

  /** Resolves when no key is running and either no key is due or the queue is closed. */
  whenIdle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idlers.add(resolve);
      this.#wakeIdlers();
    });
  }

  /** Keys that are due and wait to be taken. */
  get depth(): number {
    return this.#ready.size;
  }

  get running(): number {
    return this.#running.size;
  }

  /** Keys that are planned for later. */
  get waiting(): number {
    return this.#later.size;
  }

  /** How long the longest-waiting key has been due; 0 if no key is due. */
  get oldestAgeMs(): number {
    const now = this.#clock.monotonic();
    return now - Math.min(now, this.#ready.earliestDue);
  }

  /** Sum of the time the running keys have taken so far. */
  get unfinishedMs(): number {
    return this.#durationsMs().reduce((sum, ms) => sum + ms, 0);
  }

  get longestRunningMs(): number {
    return this.#durationsMs().reduce((longest, ms) => Math.max(longest, ms), 0);
  }

  #durationsMs(): readonly number[] {
    return this.#running.durationsMs(this.#clock.monotonic());
  }

  #entryOf(key: string, options: AddOptions, old: QueueEntry | undefined): QueueEntry {
    const { afterMs = 0, priority = "change", holdMs = 0, bypassBackoff = false } = options;
    const { group, resource, isUrgent } = this.#traitsOf(key);
    const now = this.#clock.monotonic();
    const free = bypassBackoff || (old?.bypassBackoff ?? false);
    const wanted = Math.min(now + Math.max(0, afterMs), old?.due ?? Number.POSITIVE_INFINITY);
    return {
      key,
      group,
      resource,
      due: free ? wanted : Math.max(this.#hold(key, now, holdMs), wanted),
      priority: higher(isUrgent ? "urgent" : priority, old?.priority),
      bypassBackoff: free,
      sequence: old?.sequence ?? this.#sequence++,
    };
  }

  #hold(key: string, now: number, holdMs: number): number {
    const hold = Math.max(this.#holds.get(key) ?? 0, holdMs > 0 ? now + holdMs : 0);
    if (hold > now) this.#holds.set(key, hold);
    return hold;
  }

  #place(entry: QueueEntry, wasDue: boolean): void {
    if (entry.due > this.#clock.monotonic()) {
      this.#later.push(entry);
      return;
    }
    this.#ready.add(entry);
    if (!wasDue) this.#hooks.onDue?.();
  }

  /** Returns whether the entry was due. */
  #unplace(entry: QueueEntry): boolean {
    this.#later.remove(entry);
    return this.#ready.delete(entry);
  }

  /** Moves entries that became due, hands out as many as possible, and sets the timer for the next entry. */
  #dispatch(): void {
    if (this.#closed) {
      this.#wakeIdlers();
      return;
    }
    const now = this.#clock.monotonic();
    for (let entry = this.#later.first(); entry && entry.due <= now; entry = this.#later.first()) {
      this.#later.remove(entry);
      this.#place(entry, false);
    }
    for (const take of this.#takers) {
      const entry = this.#ready.next();
      if (entry === undefined) break;
      this.#takers.delete(take);
      this.#start(entry, now);
      take(entry.key);
    }
    this.#setTimer();
    this.#wakeIdlers();
  }

  #start(entry: QueueEntry, now: number): void {
    const { key, group, resource, due, bypassBackoff, priority } = entry;
    this.#ready.take(entry);
    this.#entries.delete(key);
    this.#holds.delete(key);
    this.#running.start(key, {
      startedAt: now,
      group,
      resource,
      isUrgent: priority === "urgent",
      isRequested: bypassBackoff,
    });
    this.#hooks.onStart?.(now - due);
  }

  #setTimer(): void {
    const due = this.#later.first()?.due;
    if (due === this.#timer?.due) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (due === undefined) return;
    const cancel = this.#clock.setTimer(due - this.#clock.monotonic(), () => {
      this.#timer = undefined;
      this.#dispatch();
    });
    this.#timer = { due, cancel };
  }

  #wakeIdlers(): void {
    if (this.#idlers.size === 0) return;
    if (this.#running.size > 0 || (!this.#closed && this.depth > 0)) return;
    for (const resolve of this.#idlers) resolve();
    this.#idlers.clear();
  }
}

function isSame(a: QueueEntry, b: QueueEntry): boolean {
  return (
    a.due === b.due &&
    a.priority === b.priority &&
    a.bypassBackoff === b.bypassBackoff &&
    a.group === b.group &&
    a.resource === b.resource
  );
}
