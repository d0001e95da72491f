import { type KubeObject, keyText, type ObjectKey, parseKey } from "../kube/resource.ts";
import type { Store, StoreChange } from "../kube/store.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { Log } from "../util/log.ts";
import type { Random } from "../util/random.ts";
import { type Clock, HOUR, MINUTE, SECOND } from "../util/time.ts";
import { countQueue } from "./count-queue.ts";
import { createPasses } from "./pass.ts";
import { isMoreThanStatus } from "./predicate.ts";
import type { ErrorPolicy, Reconcile } from "./result.ts";
import { Retries } from "./retries.ts";
import { type Addition, WorkQueue } from "./work-queue.ts";

/** Another kind whose changes wake objects of the controller's own. */
export interface Relation {
  readonly store: Pick<Store, "synced">;
  /** Calls back with the keys a change wakes; returns the way to stop. */
  subscribe(wake: (key: ObjectKey) => void): () => void;
}

/** A relation by a function from a change to the keys it wakes. */
export function relation<T extends KubeObject>(
  store: Store<T>,
  toKeys: (change: StoreChange<T>) => Iterable<ObjectKey>,
): Relation {
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
  readonly relations?: readonly Relation[];
  /** Further stores that must be synced before anything runs. */
  readonly needs?: readonly Pick<Store, "synced">[];
  /** Which changes of the own kind matter. All but those of the status alone by default. */
  readonly predicate?: (change: StoreChange<T>) => boolean;
  /** Passes at once; 1 by default. */
  readonly concurrency?: number;
  /** Every object is looked at at least this often (a tenth less at times). 10 h by default. */
  readonly resyncMs?: number;
  /** A pass is aborted after so long. 2 min by default. */
  readonly passTimeoutMs?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
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

/** How often the stores are asked at the start whether they are synced. */
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
  const { name, store, clock, log, metrics, relations = [], concurrency = 1 } = options;
  const queue = new WorkQueue(clock, countQueue(name, metrics));
  const retries = new Retries(clock, options.random);
  const passes = createPasses({
    ...options,
    retries,
    resyncMs: options.resyncMs ?? 10 * HOUR,
    timeoutMs: options.passTimeoutMs ?? 2 * MINUTE,
  });
  const matters = options.predicate ?? isMoreThanStatus;
  /** Keys that wait for the store to see our last write. */
  const stale = new Set<string>();
  const stops: (() => void)[] = [];
  const startedAt = { value: Number.POSITIVE_INFINITY };
  let lastProgressAt = clock.monotonic();

  const allSynced = () =>
    [store, ...relations.map((each) => each.store), ...(options.needs ?? [])].every(
      ({ synced }) => synced,
    );

  const wake = (key: string) => {
    // What the first listing brings is no change, and a new object need not wait behind it.
    queue.add(key, { priority: allSynced() ? "change" : "resync" });
  };

  const onChange = (change: StoreChange<T>) => {
    const key = keyText(change.key);
    if (stale.has(key) || matters(change)) wake(key);
  };

  const work = async (key: string): Promise<Addition | undefined> => {
    stale.delete(key);
    const objectKey = parseKey(key);
    if (!store.isCurrent(objectKey)) {
      stale.add(key);
      metrics.staleSyncSkips.inc({ kind: name });
      return { afterMs: STALE_RECHECK_MS, priority: "requeue" };
    }
    const object = store.get(objectKey);
    if (object !== undefined) return passes.run(key, object);
    retries.forget(key);
    options.onGone?.(objectKey);
    return undefined;
  };

  const workOn = async (key: string) => {
    try {
      const again = await work(key);
      if (again !== undefined) queue.add(key, again);
    } catch (error) {
      log.error({ controller: name, ...parseKey(key), err: asError(error) }, "controller failed");
      queue.add(key, { afterMs: MINUTE, priority: "retry" });
    } finally {
      lastProgressAt = clock.monotonic();
      queue.done(key);
    }
  };

  const worker = async (signal: AbortSignal) => {
    for (let key = await queue.next(signal); key !== undefined; key = await queue.next(signal)) {
      // The store may have moved on meanwhile, but never backwards.
      await workOn(key);
    }
  };

  const runWorkers = async (signal: AbortSignal) => {
    while (!allSynced()) await clock.sleep(SYNC_POLL_MS, signal);
    log.info({ controller: name, workers: concurrency }, "started controller");
    startedAt.value = clock.monotonic();
    await Promise.all(Array.from({ length: concurrency }, () => worker(signal)));
  };

  return {
    name,
    start(signal) {
      metrics.startController(name, concurrency);
      stops.push(store.subscribe(onChange), observeQueue(name, queue, metrics));
      for (const each of relations) stops.push(each.subscribe((key) => wake(keyText(key))));
      for (const object of store.list()) {
        const { namespace = "", name: objectName } = object.metadata;
        queue.add(keyText({ namespace, name: objectName }), { priority: "resync" });
      }
      // Rejects only when the signal is aborted before the stores are synced.
      runWorkers(signal).catch(() => undefined);
    },
    async drain(graceMs) {
      queue.close();
      for (const stop of stops.splice(0)) stop();
      const idle = queue.whenIdle();
      if (await endsWithin(idle, graceMs, clock)) return true;
      passes.abort();
      return endsWithin(idle, CLEAN_UP_MS, clock);
    },
    enqueue: (key) => queue.add(keyText(key)),
    whenIdle: () => queue.whenIdle(),
    get lastProgressAt() {
      return lastProgressAt;
    },
    get silentMs() {
      if (queue.depth + queue.running === 0) return 0;
      const now = clock.monotonic();
      const workSince = now - Math.max(queue.oldestAgeMs, queue.longestRunningMs);
      return Math.max(0, now - Math.max(lastProgressAt, startedAt.value, workSince));
    },
  };
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

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
