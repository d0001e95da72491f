import { type KubeObject, keyOf, keyText, type ObjectKey, parseKey } from "../kube/resource.ts";
import type { Store, StoreChange } from "../kube/store/store.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { Log } from "../util/log.ts";
import type { Random } from "../util/random.ts";
import { type Clock, HOUR, MINUTE, SECOND } from "../util/time.ts";
import { toError } from "../util/to-error.ts";
import { noTracer, type Tracer } from "../util/trace.ts";
import type { Addition } from "./addition.ts";
import { countQueue } from "./count-queue.ts";
import { ignoreStatusChanges, isRequest, isUnseen } from "./predicates.ts";
import type { ErrorPolicy, Reconcile } from "./result.ts";
import { Retries } from "./retries.ts";
import { createRunner, type Runner } from "./runner.ts";
import type { Watch } from "./watch.ts";
import { type KeyTraits, WorkQueue } from "./work-queue.ts";

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
  /** Whether a change asks for a run even while a `Retry-After` holds the object. {@link isRequest} by default. */
  readonly isRequest?: (change: StoreChange<T>) => boolean;
  /** How many objects may be reconciled at once; 1 by default. */
  readonly concurrency?: number;
  /**
   * What a reconcile will wait for. No resource has more workers than it leaves free, so that one that hangs does not
   * hold up the others. The namespace by default: resources of which a namespace can have any number must be one.
   */
  readonly resourceOf?: (object: T) => string | undefined;
  /**
   * Urgent objects go before all others, and have reserved workers: a quarter as many as the others, at least 2. False
   * again once what is urgent is done. Nothing is urgent by default.
   */
  readonly isUrgent?: (object: T) => boolean;
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
   * Starts nothing more and waits for what runs; aborts their signals after `graceMs`, and gives up on
   * them a second later. Resolves to whether all have ended.
   */
  drain(graceMs: number): Promise<boolean>;
  /** Reconciles this object as soon as possible. */
  enqueue(key: ObjectKey): void;
  /** When the last run ended, well or not; monotonic. */
  readonly lastProgressAt: number;
  /** For how long there has been work and no run has ended; 0 where there is nothing to do. */
  readonly silentMs: number;
  /** Resolves when nothing is due and nothing runs. */
  whenIdle(): Promise<void>;
}

/** How often the caches are asked at the start whether they are synced. */
const SYNC_POLL_MS = 50;
/** A stale key is checked again after so long if no change of the store enqueues it. */
const STALE_RECHECK_MS = 5 * SECOND;
/** What aborted runs get to clean up. */
const CLEAN_UP_MS = SECOND;
/** Every object is reconciled at least this often (a tenth less at times). */
const RESYNC_MS = 10 * HOUR;
/** A run is aborted after so long. */
const TIMEOUT_MS = 2 * MINUTE;

/**
 * Runs a reconciler over one kind of object.
 *
 * Guarantees: no run before every store is synced; one run per object at a time; no run on a view that
 * lacks our own last write of the object; every object is reconciled again after every change that matters,
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
    this.#queue = new WorkQueue(clock, {
      hooks: countQueue(name, metrics),
      traitsOf: (key) => this.#traitsOf(key),
      ...workersOf(options),
    });
    this.#retries = new Retries(clock, random);
    this.#runner = createRunner({
      tracer: noTracer,
      ...options,
      retries: this.#retries,
      resyncMs: RESYNC_MS,
      timeoutMs: TIMEOUT_MS,
    });
    this.#lastProgressAt = clock.monotonic();
  }

  start(signal: AbortSignal): void {
    const { store, watches = [], metrics } = this.#options;
    metrics.startController(this.name, allWorkersOf(this.#options));
    this.#stops.push(
      store.subscribe((change) => this.#onChange(change)),
      ...watches.map((each) =>
        each.subscribe((key, afterMs = 0) => this.#enqueue(keyText(key), { afterMs })),
      ),
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

  /** Once they are, they stay it. */
  #allSynced(): boolean {
    if (this.#workingSince !== undefined) return true;
    const { store, watches = [], needs = [] } = this.#options;
    const caches = [store, ...watches.map((each) => each.store), ...needs];
    return caches.every(({ synced }) => synced);
  }

  #onChange(change: StoreChange<T>): void {
    const key = keyText(change.key);
    const { predicate = ignoreStatusChanges, isRequest: asks = isRequest } = this.#options;
    if (this.#stale.has(key) || predicate(change))
      this.#enqueue(key, { endsHold: asks(change), isNews: isUnseen(change) });
  }

  #enqueue(key: string, { endsHold = false, isNews = false, afterMs = 0 } = {}): void {
    // What the first listing brings is no change, and what has come or changed meanwhile need not wait behind it.
    const priority = isNews || this.#allSynced() ? "change" : "resync";
    this.#queue.add(key, { priority, endsHold, afterMs });
  }

  #traitsOf(key: string): KeyTraits {
    const { store, resourceOf, isUrgent } = this.#options;
    const objectKey = parseKey(key);
    const { namespace, name } = objectKey;
    const object = store.get(objectKey);
    // Namespaces take turns; an object without one is a group of its own.
    const group = namespace || name;
    if (object === undefined) return { group, resource: "", isUrgent: false };
    const resource = resourceOf?.(object) ?? group;
    return { group, resource, isUrgent: isUrgent?.(object) ?? false };
  }

  async #runWorkers(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    while (!this.#allSynced()) await clock.sleep(SYNC_POLL_MS, signal);
    log.debug({ controller: this.name }, "started controller");
    this.#workingSince = clock.monotonic();
    const length = allWorkersOf(this.#options);
    await Promise.all(Array.from({ length }, () => this.#worker(signal)));
  }

  async #worker(signal: AbortSignal): Promise<void> {
    for (
      let key = await this.#queue.next(signal);
      key !== undefined;
      key = await this.#queue.next(signal)
    ) {
      await this.#workOn(key);
      const othersTurn = this.#options.clock.giveWay?.();
      if (othersTurn !== undefined) await othersTurn;
    }
  }

  async #workOn(key: string): Promise<void> {
    const { clock, log } = this.#options;
    let succeeded = false;
    try {
      const again = await this.#reconcile(key);
      succeeded = again?.priority !== "retry";
      if (again !== undefined) this.#queue.add(key, again);
    } catch (error) {
      log.error(
        { controller: this.name, ...parseKey(key), err: toError(error) },
        "controller failed",
      );
      this.#queue.add(key, { afterMs: MINUTE, priority: "retry" });
    } finally {
      this.#lastProgressAt = clock.monotonic();
      this.#queue.done(key, succeeded);
    }
  }

  /** Says when the key is due again; `undefined` where its object is gone. */
  async #reconcile(key: string): Promise<Addition | undefined> {
    const { store, metrics, onGone } = this.#options;
    const objectKey = parseKey(key);
    const isRequested = this.#queue.isRequested(key);
    this.#stale.delete(key);
    if (!store.isCurrent(objectKey)) {
      this.#stale.add(key);
      metrics.staleSyncSkips.inc({ kind: this.name });
      return { afterMs: STALE_RECHECK_MS, priority: "requeue", endsHold: isRequested };
    }
    const object = store.get(objectKey);
    if (object !== undefined) return this.#runner.run(key, object, isRequested);
    this.#retries.forget(key);
    onGone?.(objectKey);
    return undefined;
  }
}

interface Workers {
  readonly workers: number;
  readonly reservedWorkers: number;
}

function workersOf<T extends KubeObject>(options: ControllerOptions<T>): Workers {
  const { concurrency: workers = 1, isUrgent } = options;
  return { workers, reservedWorkers: isUrgent ? Math.max(2, Math.ceil(workers / 4)) : 0 };
}

function allWorkersOf<T extends KubeObject>(options: ControllerOptions<T>): number {
  const { workers, reservedWorkers } = workersOf(options);
  return workers + reservedWorkers;
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
