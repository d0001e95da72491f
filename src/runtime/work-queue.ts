import type { Clock } from "../util/time.ts";
import { Heap } from "./heap.ts";

/** Who goes first among the keys that are due: what somebody waits for before what merely comes round again. */
export const priorities = ["resync", "retry", "requeue", "change"] as const;
export type Priority = (typeof priorities)[number];

export interface Addition {
  /** When the key is due, from now. At once by default. */
  readonly afterMs?: number;
  /** `change` by default. */
  readonly priority?: Priority;
  /** Keeps the key from being due any earlier, whatever else adds it (a `Retry-After`). */
  readonly holdMs?: number;
}

export interface QueueHooks {
  /** A key became due. */
  readonly onDue?: () => void;
  /** A key was handed out after it had been due for so long. */
  readonly onStart?: (waitedMs: number) => void;
  readonly onDone?: (workedMs: number) => void;
}

interface Plan {
  readonly key: string;
  /** Monotonic. */
  readonly due: number;
  readonly priority: Priority;
  readonly sequence: number;
}

/** One hand-out in so many goes to the key that waits longest, so that no priority starves another. */
const FAIR_TURN = 16;

/**
 * Keys to work on, each once.
 *
 * Guarantees: a key is never handed out twice at once; a key added while it is worked on is handed out again
 * afterwards; of several additions the earliest due time and the highest priority win; nothing added is lost
 * until it is handed out; a hold is never undercut.
 *
 * Assumptions: whoever takes a key calls {@link WorkQueue.done} for it, always.
 */
export class WorkQueue {
  readonly #clock: Clock;
  readonly #hooks: QueueHooks;
  /** What is wanted next of a key, one plan each. Those of running keys are in here alone. */
  readonly #plans = new Map<string, Plan>();
  readonly #later = new Heap<Plan>(isEarlier);
  readonly #ready: Readonly<Record<Priority, Set<Plan>>> = {
    change: new Set(),
    requeue: new Set(),
    retry: new Set(),
    resync: new Set(),
  };
  /** Running keys and when they started. */
  readonly #running = new Map<string, number>();
  readonly #holds = new Map<string, number>();
  readonly #takers = new Set<(key: string | undefined) => void>();
  readonly #idlers = new Set<() => void>();
  #timer: { readonly due: number; readonly cancel: () => void } | undefined;
  #sequence = 0;
  #turn = 0;
  #closed = false;

  constructor(clock: Clock, hooks: QueueHooks = {}) {
    this.#clock = clock;
    this.#hooks = hooks;
  }

  /** Wants the key to be worked on. Ignored once the queue is closed. */
  add(key: string, { afterMs = 0, priority = "change", holdMs = 0 }: Addition = {}): void {
    if (this.#closed) return;
    const now = this.#clock.monotonic();
    const hold = this.#hold(key, now, holdMs);
    const old = this.#plans.get(key);
    const plan: Plan = {
      key,
      due: Math.max(
        hold,
        Math.min(now + Math.max(0, afterMs), old?.due ?? Number.POSITIVE_INFINITY),
      ),
      priority: higher(priority, old?.priority),
      sequence: old?.sequence ?? this.#sequence++,
    };
    // One that is due already keeps its place.
    if (old !== undefined && old.due === plan.due && old.priority === plan.priority) return;
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

  /** Says that the work on a key has ended, well or not. */
  done(key: string): void {
    const startedAt = this.#running.get(key);
    if (startedAt === undefined) return;
    this.#running.delete(key);
    this.#hooks.onDone?.(this.#clock.monotonic() - startedAt);
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
    return priorities.reduce((sum, priority) => sum + this.#ready[priority].size, 0);
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
    const oldest = this.#longestWaiting();
    return oldest === undefined ? 0 : this.#clock.monotonic() - oldest.due;
  }

  /** Sum of the time the running keys have taken so far. */
  get unfinishedMs(): number {
    const now = this.#clock.monotonic();
    return [...this.#running.values()].reduce((sum, startedAt) => sum + now - startedAt, 0);
  }

  get longestRunningMs(): number {
    const now = this.#clock.monotonic();
    return [...this.#running.values()].reduce(
      (longest, startedAt) => Math.max(longest, now - startedAt),
      0,
    );
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
    this.#ready[plan.priority].add(plan);
    if (!wasDue) this.#hooks.onDue?.();
  }

  /** Says whether the plan was due. */
  #unplace(plan: Plan): boolean {
    this.#later.remove(plan);
    return this.#ready[plan.priority].delete(plan);
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
      const plan = this.#pick();
      if (plan === undefined) break;
      this.#takers.delete(take);
      this.#start(plan, now);
      take(plan.key);
    }
    this.#setTimer();
    this.#wakeIdlers();
  }

  #start(plan: Plan, now: number): void {
    this.#unplace(plan);
    this.#plans.delete(plan.key);
    this.#holds.delete(plan.key);
    this.#running.set(plan.key, now);
    this.#hooks.onStart?.(now - plan.due);
  }

  #pick(): Plan | undefined {
    this.#turn = (this.#turn + 1) % FAIR_TURN;
    return this.#turn === 0 ? this.#longestWaiting() : this.#firstByPriority();
  }

  #firstByPriority(): Plan | undefined {
    return priorities.reduceRight<Plan | undefined>(
      (first, priority) => first ?? firstOf(this.#ready[priority]),
      undefined,
    );
  }

  #longestWaiting(): Plan | undefined {
    return priorities
      .map((priority) => firstOf(this.#ready[priority]))
      .reduce(
        (first, plan) => (first && (!plan || isEarlier(first, plan)) ? first : plan),
        undefined,
      );
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
    if (this.#running.size > 0 || (!this.#closed && this.depth > 0)) return;
    for (const resolve of this.#idlers) resolve();
    this.#idlers.clear();
  }
}

function isEarlier(a: Plan, b: Plan): boolean {
  return a.due === b.due ? a.sequence < b.sequence : a.due < b.due;
}

function higher(a: Priority, b: Priority | undefined): Priority {
  return b !== undefined && priorities.indexOf(b) > priorities.indexOf(a) ? b : a;
}

function firstOf(plans: ReadonlySet<Plan>): Plan | undefined {
  for (const plan of plans) return plan;
  return undefined;
}
