import { type KubeObject, keyOf, keyText, type ObjectKey, parseKey } from "../kube/resource.ts";
import type { Store, StoreChange } from "../kube/store/store.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { Log } from "../util/log.ts";
import type { Random } from "../util/random.ts";
import { type Clock, HOUR, MINUTE, SECOND } from "../util/time.ts";
import { toError } from "../util/to-error.ts";
import { noTracer, type Tracer } from "../util/trace.ts";
import { countQueue } from "./count-queue.ts";
import { ignoreStatusChanges } from "./predicates.ts";
import type { ErrorPolicy, Reconcile } from "./result.ts";
import { Retries } from "./retries.ts";
import { createRunner, type Runner } from "./runner.ts";
import { type Addition, WorkQueue } from "./work-queue.ts";

/** Another kind whose changes wake objects of the controller's own. */
export interface Watch {
  readonly store: Pick<Store, "synced">;
  /** Calls back with the keys a change wakes; returns the way to stop. */
  subscribe(wake: (key: ObjectKey) => void): () => void;
}

/** A watch by a function from a change to the keys it wakes. */
export function watch<T extends KubeObject>(
  store: Store<T>,
  toKeys: (change: StoreChange<T>) => Iterable<ObjectKey>,
): Watch {
  return {
    store,
    subscribe: (wake) =>
      store.subscribe((change) => {
        for (const key of toKeys(change)) wake(key);
      }),
  };
}

export interface ControllerOptions<T extends KubeObject> {
  /** In logs and as a metric label; the kind. */
  readonly name: string;
  readonly store: Store<T>;
  readonly reconcile: Reconcile<T>;
  /** Called when an object is no longer in the store: to forget what was kept about it. */
  readonly onGone?: (key: ObjectKey) => void;
  readonly errorPolicy: ErrorPolicy;
  readonly watches?: readonly Watch[];
  /** Further caches that must be synced before anything runs. */
  readonly needs?: readonly Pick<Store, "synced">[];
  /** Which changes of the own kind matter. All but those of the status alone by default. */
  readonly predicate?: (change: StoreChange<T>) => boolean;
  /** Runner at once; 1 by default. */
  readonly concurrency?: number;
  /** Every object is looked at at least this often (a tenth less at times). 10 h by default. */
  readonly resyncMs?: number;
  /** A pass is aborted after so long. 2 min by default. */
  readonly reconcileTimeoutMs?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  /** None by default. */
  readonly tracer?: Tracer;
}

export interface Controller {
  readonly name: string;
  /**
   * Starts to work as soon as every store is synced. When the signal is aborted nothing more is started;
   * what runs goes on until {@link Controller.drain} cuts it off.
   */
  start(signal: AbortSignal): void;
  /**
   * Starts nothing more and waits for running passes; aborts their signals after `graceMs`, and gives up on
   * them a second later. Resolves to whether all have ended.
   */
  drain(graceMs: number): Promise<boolean>;
  /** Wants a pass of this object now. */
  enqueue(key: ObjectKey): void;
  /** When the last pass ended, well or not; monotonic. */
  readonly lastProgressAt: number;
  /** For how long there has been work and no pass has ended; 0 where there is nothing to do. */
  readonly silentMs: number;
  /** Resolves when nothing is due and nothing runs. */
  whenIdle(): Promise<void>;
}

/** How often the caches are asked at the start whether they are synced. */
const SYNC_POLL_MS = 50;
/** A stale key is looked at again after so long if no change of the store wakes it. */
const STALE_RECHECK_MS = 5 * SECOND;
/** What aborted passes get to clean up. */
const CLEAN_UP_MS = SECOND;

/**
 * Runs a reconciler over one kind of object.
 *
 * Guarantees: no pass before every store is synced; one pass of an object at a time; no pass on a view that
 * lacks our own last write of the object; every object is looked at again after every change that matters,
 * after every failure as the error policy says, and with the resync.
 */
export function createController<T extends KubeObject>(options: ControllerOptions<T>): Controller {
  return new RunningController(options);
}

class RunningController<T extends KubeObject> implements Controller {
  readonly name: string;
  readonly #options: ControllerOptions<T>;
  readonly #queue: WorkQueue;
  readonly #retries: Retries;
  readonly #runner: Runner<T>;
  /** Keys that wait for the store to see our last write. */
  readonly #stale = new Set<string>();
  readonly #stops: (() => void)[] = [];
  #workingSince: number | undefined;
  #lastProgressAt: number;

  constructor(options: ControllerOptions<T>) {
    const { name, clock, random, metrics } = options;
    this.name = name;
    this.#options = options;
    this.#queue = new WorkQueue(clock, countQueue(name, metrics));
    this.#retries = new Retries(clock, random);
    this.#runner = createRunner({
      tracer: noTracer,
      ...options,
      retries: this.#retries,
      resyncMs: options.resyncMs ?? 10 * HOUR,
      timeoutMs: options.reconcileTimeoutMs ?? 2 * MINUTE,
    });
    this.#lastProgressAt = clock.monotonic();
  }

  start(signal: AbortSignal): void {
    const { store, watches = [], metrics, concurrency = 1 } = this.#options;
    metrics.startController(this.name, concurrency);
    this.#stops.push(
      store.subscribe((change) => this.#onChange(change)),
      ...watches.map((each) => each.subscribe((key) => this.#wake(keyText(key)))),
      observeQueue(this.name, this.#queue, metrics),
    );
    for (const object of store.list()) {
      this.#queue.add(keyText(keyOf(object)), { priority: "resync" });
    }
    // Rejects only when the signal is aborted before the caches are synced.
    this.#runWorkers(signal).catch(() => undefined);
  }

  async drain(graceMs: number): Promise<boolean> {
    const { clock } = this.#options;
    this.#queue.close();
    for (const stop of this.#stops.splice(0)) stop();
    const idle = this.#queue.whenIdle();
    if (await endsWithin(idle, graceMs, clock)) return true;
    this.#runner.abort();
    return endsWithin(idle, CLEAN_UP_MS, clock);
  }

  enqueue(key: ObjectKey): void {
    this.#queue.add(keyText(key));
  }

  whenIdle(): Promise<void> {
    return this.#queue.whenIdle();
  }

  get lastProgressAt(): number {
    return this.#lastProgressAt;
  }

  get silentMs(): number {
    const hasWork = this.#queue.depth + this.#queue.running > 0;
    if (this.#workingSince === undefined || !hasWork) return 0;
    const now = this.#options.clock.monotonic();
    const workSince = now - Math.max(this.#queue.oldestAgeMs, this.#queue.longestRunningMs);
    return now - Math.max(this.#lastProgressAt, this.#workingSince, workSince);
  }

  #allSynced(): boolean {
    const { store, watches = [], needs = [] } = this.#options;
    const caches = [store, ...watches.map((each) => each.store), ...needs];
    return caches.every(({ synced }) => synced);
  }

  #onChange(change: StoreChange<T>): void {
    const key = keyText(change.key);
    const { predicate = ignoreStatusChanges } = this.#options;
    if (this.#stale.has(key) || predicate(change)) this.#wake(key);
  }

  #wake(key: string): void {
    // What the first listing brings is no change, and a new object need not wait behind it.
    this.#queue.add(key, { priority: this.#allSynced() ? "change" : "resync" });
  }

  async #runWorkers(signal: AbortSignal): Promise<void> {
    const { clock, log, concurrency = 1 } = this.#options;
    while (!this.#allSynced()) await clock.sleep(SYNC_POLL_MS, signal);
    log.debug({ controller: this.name }, "started controller");
    this.#workingSince = clock.monotonic();
    await Promise.all(Array.from({ length: concurrency }, () => this.#worker(signal)));
  }

  async #worker(signal: AbortSignal): Promise<void> {
    for (
      let key = await this.#queue.next(signal);
      key !== undefined;
      key = await this.#queue.next(signal)
    ) {
      await this.#workOn(key);
    }
  }

  async #workOn(key: string): Promise<void> {
    const { clock, log } = this.#options;
    try {
      const again = await this.#look(key);
      if (again !== undefined) this.#queue.add(key, again);
    } catch (error) {
      log.error(
        { controller: this.name, ...parseKey(key), err: toError(error) },
        "controller failed",
      );
      this.#queue.add(key, { afterMs: MINUTE, priority: "retry" });
    } finally {
      this.#lastProgressAt = clock.monotonic();
      this.#queue.done(key);
    }
  }

  /** Says when the key is to be looked at again; `undefined` where its object is gone. */
  async #look(key: string): Promise<Addition | undefined> {
    const { store, metrics, onGone } = this.#options;
    const objectKey = parseKey(key);
    this.#stale.delete(key);
    if (!store.isCurrent(objectKey)) {
      this.#stale.add(key);
      metrics.staleSyncSkips.inc({ kind: this.name });
      return { afterMs: STALE_RECHECK_MS, priority: "requeue" };
    }
    const object = store.get(objectKey);
    if (object !== undefined) return this.#runner.run(key, object);
    this.#retries.forget(key);
    onGone?.(objectKey);
    return undefined;
  }
}

function observeQueue(name: string, queue: WorkQueue, metrics: Metrics): () => void {
  return metrics.onScrape(() => {
    metrics.activeWorkers.set({ controller: name }, queue.running);
    metrics.queueDepth.set({ name }, queue.depth);
    metrics.queueOldestAge.set({ name }, queue.oldestAgeMs / SECOND);
    metrics.queueUnfinishedWork.set({ name }, queue.unfinishedMs / SECOND);
    metrics.queueLongestRunning.set({ name }, queue.longestRunningMs / SECOND);
  });
}

function endsWithin(work: Promise<void>, ms: number, clock: Clock): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = clock.setTimer(ms, () => resolve(false));
    void work.then(() => {
      cancel();
      resolve(true);
    });
  });
}
