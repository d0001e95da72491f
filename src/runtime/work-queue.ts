import type { Clock } from "../util/time.ts";
import { type Addition, higher } from "./addition.ts";
import { Heap } from "./heap.ts";
import { isEarlier, type Plan, ReadyKeys } from "./ready-keys.ts";
import { RunningKeys } from "./running-keys.ts";
import { SlowGroups } from "./slow-groups.ts";

/** What decides about a key beside its priority. */
export interface KeyTraits {
  /** Groups take turns. */
  readonly group: string;
  /** What the work will wait for. No resource has more workers than it leaves free for the others. */
  readonly resource: string;
  /** Goes before all others, and may take the reserved workers. */
  readonly isUrgent: boolean;
}

export interface QueueOptions {
  readonly hooks?: QueueHooks;
  /** Asked whenever a key is added. All keys are of one group and urgent by priority only by default. */
  readonly traitsOf?: (key: string) => KeyTraits;
  /** How many keys may be out at once. Any number by default. */
  readonly workers?: number;
  /** How many more, for urgent keys only. None by default. */
  readonly reservedWorkers?: number;
}

export interface QueueHooks {
  /** A key became due. */
  readonly onDue?: () => void;
  /** A key was handed out after it had been due for so long. */
  readonly onStart?: (waitedMs: number) => void;
  readonly onDone?: (workedMs: number) => void;
}

const plainTraits: KeyTraits = { group: "", resource: "", isUrgent: false };

/**
 * Keys to work on, each once.
 *
 * Guarantees: a key is never handed out twice at once; a key added while it is worked on is handed out again
 * afterwards; of several additions the earliest due time and the highest priority win; nothing added is lost
 * until it is handed out; only what ends a hold undercuts it. Urgent keys go first; in each other priority groups take
 * turns. While one resource hangs, at least half of the workers go on with the others: no resource gets a worker
 * unless more are free than it has.
 *
 * Assumptions: whoever takes a key calls {@link WorkQueue.done} for it, always.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #hooks: QueueHooks;
  readonly #traitsOf: (key: string) => KeyTraits;
  /** What is wanted next of a key, one plan each. Those of running keys are in here alone. */
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

  /** Wants the key to be worked on. Ignored once the queue is closed. */
  add(key: string, addition: Addition = {}): void {
    if (this.#closed) return;
    const old = this.#plans.get(key);
    const plan = this.#planOf(key, addition, old);
    // One that is due already keeps its place.
    if (old !== undefined && isSame(old, plan)) return;
    const wasDue = old !== undefined && this.#unplace(old);
    this.#plans.set(key, plan);
    if (!this.#running.has(key)) this.#place(plan, wasDue);
    this.#dispatch();
  }

  /** The next key; waits for one. `undefined` once the queue is closed or the signal is aborted. */
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

  /** Whether the key that is worked on was handed out because it was asked for, whatever held it. */
  isRequested(key: string): boolean {
    return this.#running.isRequested(key);
  }

  /** Says that the work on a key has ended, well (`succeeded`) or not. */
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

  /** Hands out nothing more and takes nothing more. What runs goes on. */
  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const take of this.#takers) take(undefined);
    this.#takers.clear();
    this.#wakeIdlers();
  }

  /** Resolves when nothing runs, and nothing is due or the queue is closed. */
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

  /** For how long the first key has been due. */
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

  /** Says whether the plan was due. */
  #unplace(plan: Plan): boolean {
    this.#later.remove(plan);
    return this.#ready.delete(plan);
  }

  /** Moves what has fallen due, hands out what it can, and sets the one timer. */
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
