import {
  isPartial,
  type KubeObject,
  keyOf,
  keyText,
  type ObjectKey,
  parseKey,
} from "../kube/resource.ts";
import type { QueueSource, Store, StoreChange } from "../kube/store/store.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { Log } from "../util/log.ts";
import type { Random } from "../util/random.ts";
import { type Clock, HOUR, MINUTE, SECOND } from "../util/time.ts";
import { toError } from "../util/to-error.ts";
import { noTracer, type Tracer } from "../util/trace.ts";
import type { AddOptions } from "./add-options.ts";
import { countQueue } from "./count-queue.ts";
import { ignoreStatusChanges, isRequest, isUnseen } from "./predicates.ts";
import { largeObject } from "./ready-keys.ts";
import type { ErrorPolicy, Reconcile } from "./result.ts";
import { Retries } from "./retries.ts";
import { createRunner, type Runner } from "./runner.ts";
import type { Watch } from "./watch.ts";
import { type KeyTraits, WorkQueue } from "./work-queue.ts";

export interface ControllerOptions<T extends KubeObject> {
  /** The kind; used in logs and as a metric label. */
  readonly name: string;
  readonly store: QueueSource<T>;
  readonly reconcile: Reconcile<T>;
  /** Called when an object is no longer in the store, to drop any state kept about it. */
  readonly onGone?: (key: ObjectKey) => void;
  readonly errorPolicy: ErrorPolicy;
  readonly watches?: readonly Watch[];
  /** More caches that must be synced before the first run. */
  readonly needs?: readonly Pick<Store, "synced">[];
  /** Whether a change of the controller's own kind requires a run. {@link ignoreStatusChanges} by default. */
  readonly predicate?: (change: StoreChange<T>) => boolean;
  /** Whether a change requires a run even while a `Retry-After` holds the object. {@link isRequest} by default. */
  readonly isRequest?: (change: StoreChange<T>) => boolean;
  /** How many objects can be reconciled at once; 1 by default. Urgent objects have more workers. */
  readonly concurrency?: number;
  /**
   * The resource that a reconcile waits for. No resource has more workers than it leaves free, so a hanging resource
   * does not delay the others. The namespace by default. If a namespace can have any number of such resources, they
   * must count as one resource.
   */
  readonly resourceOf?: (object: T) => string | undefined;
  /**
   * Urgent objects are reconciled first and have reserved workers: a quarter of `concurrency`, at least 2. Must be
   * false again once the urgent work is done. No object is urgent by default.
   */
  readonly isUrgent?: (object: T) => boolean;
  /**
   * A run holds large objects in memory, so one large object is reconciled at a time, and one urgent one beside it.
   * Objects that the store keeps in part by default.
   */
  readonly isLarge?: (object: T) => boolean;
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
   * Starts runs as soon as every store is synced. Once the signal is aborted, no new run starts; current runs
   * continue until {@link Controller.drain} aborts them.
   */
  start(signal: AbortSignal): void;
  /**
   * Starts no new run and waits for the current runs. Aborts their signals after `graceMs` and stops waiting one
   * second later. Resolves to whether all runs have ended.
   */
  drain(graceMs: number): Promise<boolean>;
  /** Reconciles this object as soon as possible. */
  enqueue(key: ObjectKey): void;
  /** When the last run ended, successful or not; monotonic. */
  readonly lastProgressAt: number;
  /** How long there has been work without any run ending; 0 if there is no work. */
  readonly silentMs: number;
  /** Resolves when no key is due and no run is in progress. */
  whenIdle(): Promise<void>;
}

/** How often the start checks whether the caches are synced. */
const SYNC_POLL_MS = 50;
/** A stale key is checked again after this time, unless a change of the store enqueues it earlier. */
const STALE_RECHECK_MS = 5 * SECOND;
/** Time for aborted runs to clean up. */
const CLEAN_UP_MS = SECOND;
/** Every object is reconciled at least this often; up to a tenth earlier at random. */
const RESYNC_MS = 10 * HOUR;
/** Time limit of a run. */
const TIMEOUT_MS = 2 * MINUTE;

/**
 * Runs a reconciler over one kind of object.
 *
 * Guarantees: no run before every store is synced; one run per object at a time; no run on a view that does not
 * include our own last write of the object. Every object is reconciled again after every relevant change, after
 * every failure as the error policy decides, and at the resync.
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
  /** Keys that wait until the store has our last write. */
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
    // Rejects only if the signal is aborted before the caches are synced.
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

  /** Stays true once it is true. */
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
      this.#enqueue(key, { bypassBackoff: asks(change), isChange: isUnseen(change) });
  }

  #enqueue(key: string, { bypassBackoff = false, isChange = false, afterMs = 0 } = {}): void {
    // Objects of the first listing have not changed. New and changed objects need not wait behind them.
    const priority = isChange || this.#allSynced() ? "change" : "resync";
    this.#queue.add(key, { priority, bypassBackoff, afterMs });
  }

  #traitsOf(key: string): KeyTraits {
    const { store, resourceOf, isUrgent, isLarge = isPartial } = this.#options;
    const objectKey = parseKey(key);
    const { namespace, name } = objectKey;
    const object = store.get(objectKey);
    // Namespaces take turns; each cluster-scoped object is its own group.
    const group = namespace || name;
    if (object === undefined) return { group, resource: "", isUrgent: false };
    const urgent = isUrgent?.(object) ?? false;
    const resource = isLarge(object) ? largeObject(urgent) : (resourceOf?.(object) ?? group);
    return { group, resource, isUrgent: urgent };
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
      const yielded = this.#options.clock.yieldToEventLoop?.();
      if (yielded !== undefined) await yielded;
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

  /** Resolves to when the key is due again; `undefined` if its object no longer exists. */
  async #reconcile(key: string): Promise<AddOptions | undefined> {
    const { store, metrics, onGone } = this.#options;
    const objectKey = parseKey(key);
    const isRequested = this.#queue.isRequested(key);
    this.#stale.delete(key);
    if (!store.isCurrent(objectKey)) {
      this.#stale.add(key);
      metrics.staleSyncSkips.inc({ kind: this.name });
      return { afterMs: STALE_RECHECK_MS, priority: "requeue", bypassBackoff: isRequested };
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
    const onEnd = () => {
      cancel();
      resolve(true);
    };
    work.then(onEnd, onEnd);
  });
}
