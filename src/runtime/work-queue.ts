import type { Clock } from "../util/time.ts";
import { type Addition, higher } from "./addition.ts";
import { Heap } from "./heap.ts";
import { isEarlier, type Plan, ReadyKeys } from "./ready-keys.ts";
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

export interface QueueOptions {
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
 * handed out. During a hold, a key becomes due only by an addition with `endsHold`. Urgent keys go first; within
 * each other priority, groups take turns. While one resource hangs, at least half of the workers serve the others:
 * a resource gets another worker only if more workers are free than it already has.
 *
 * Assumptions: every caller that takes a key calls {@link WorkQueue.done} for it, even after a failure.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #hooks: QueueHooks;
  readonly #traitsOf: (key: string) => KeyTraits;
  /** The next plan of each key. Plans of running keys are only in this map. */
  readonly #plans = new Map<string, Plan>();
  readonly #later = new Heap<Plan>(isEarlier);
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

  /** Adds the key, or merges the addition into its plan. Ignored once the queue is closed. */
  add(key: string, addition: Addition = {}): void {
    if (this.#closed) return;
    const old = this.#plans.get(key);
    const plan = this.#planOf(key, addition, old);
    // A key that is already due keeps its place.
    if (old !== undefined && isSame(old, plan)) return;
    const wasDue = old !== undefined && this.#unplace(old);
    this.#plans.set(key, plan);
    if (!this.#running.has(key)) this.#place(plan, wasDue);
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

  /** Whether the key is in work because of an addition with `endsHold`. */
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
    const plan = this.#plans.get(key);
    if (plan !== undefined) this.#place(plan, false);
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

  #planOf(key: string, addition: Addition, old: Plan | undefined): Plan {
    const { afterMs = 0, priority = "change", holdMs = 0, endsHold = false } = addition;
    const { group, resource, isUrgent } = this.#traitsOf(key);
    const now = this.#clock.monotonic();
    const free = endsHold || (old?.endsHold ?? false);
    const wanted = Math.min(now + Math.max(0, afterMs), old?.due ?? Number.POSITIVE_INFINITY);
    return {
      key,
      group,
      resource,
      due: free ? wanted : Math.max(this.#hold(key, now, holdMs), wanted),
      priority: higher(isUrgent ? "urgent" : priority, old?.priority),
      endsHold: free,
      sequence: old?.sequence ?? this.#sequence++,
    };
  }

  #hold(key: string, now: number, holdMs: number): number {
    const hold = Math.max(this.#holds.get(key) ?? 0, holdMs > 0 ? now + holdMs : 0);
    if (hold > now) this.#holds.set(key, hold);
    return hold;
  }

  #place(plan: Plan, wasDue: boolean): void {
    if (plan.due > this.#clock.monotonic()) {
      this.#later.push(plan);
      return;
    }
    this.#ready.add(plan);
    if (!wasDue) this.#hooks.onDue?.();
  }

  /** Returns whether the plan was due. */
  #unplace(plan: Plan): boolean {
    this.#later.remove(plan);
    return this.#ready.delete(plan);
  }

  /** Moves plans that became due, hands out as many as possible, and sets the timer for the next plan. */
  #dispatch(): void {
    if (this.#closed) {
      this.#wakeIdlers();
      return;
    }
    const now = this.#clock.monotonic();
    for (let plan = this.#later.first(); plan && plan.due <= now; plan = this.#later.first()) {
      this.#later.remove(plan);
      this.#place(plan, false);
    }
    for (const take of this.#takers) {
      const plan = this.#ready.next();
      if (plan === undefined) break;
      this.#takers.delete(take);
      this.#start(plan, now);
      take(plan.key);
    }
    this.#setTimer();
    this.#wakeIdlers();
  }

  #start(plan: Plan, now: number): void {
    const { key, group, resource, due, endsHold, priority } = plan;
    this.#ready.take(plan);
    this.#plans.delete(key);
    this.#holds.delete(key);
    this.#running.start(key, {
      startedAt: now,
      group,
      resource,
      isUrgent: priority === "urgent",
      isRequested: endsHold,
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

function isSame(a: Plan, b: Plan): boolean {
  return (
    a.due === b.due &&
    a.priority === b.priority &&
    a.endsHold === b.endsHold &&
    a.group === b.group &&
    a.resource === b.resource
  );
}
