import type { KubeObject, ObjectKey, ResourceType } from "../kube/resource.ts";
import type { QueueSource, StoreChange } from "../kube/store/store.ts";
import type { IndexFunction } from "../kube/store/store-index.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { Reconcile } from "../runtime/result.ts";
import type { Watch } from "../runtime/watch.ts";
import type { Caches, Context } from "./context.ts";

/**
 * Everything about a kind except its schema. `kinds/kinds.ts` lists all modules. `Parts` is what the kind needs
 * in addition to the Context. `Work` is the type of the objects in its queue: the kind's objects, unless `queue` names
 * another store.
 */
export interface KindModule<
  T extends KubeObject = KubeObject,
  Parts = unknown,
  Work extends KubeObject = T,
> {
  readonly type: ResourceType<T>;
  readonly cache?: KindCache<T>;
  /** What enqueues objects in addition to their own changes. */
  watches?(caches: Caches, parts: Parts): readonly Watch[];
  queue?(caches: Caches): KindQueue<Work>;
  /**
   * The object whose labels decide which of several operators reconciles this object. `undefined`: every operator
   * reconciles it. Absent: the object itself decides.
   */
  shardKeyObject?(object: T, caches: Caches): KubeObject | undefined;
  /** Connects the kind's own gauges to the objects they are collected from. Readiness has one gauge for all kinds. */
  gauges?(metrics: Metrics, objects: () => Iterable<T>): void;
  /** `enqueue` schedules an object of the queue for reconciliation as soon as possible. */
  reconciler(
    context: Context,
    parts: Parts,
    enqueue: (key: ObjectKey) => void,
  ): ModuleReconciler<Work>;
}

/** How the objects of a kind are kept in memory. */
interface KindCache<T extends KubeObject> {
  readonly indexes?: Readonly<Record<string, IndexFunction<T>>>;
  /**
   * The form of an object in the cache. `trimmed` is the default: the object itself, or its reduced form if the object
   * is large. Absent: `trimmed`.
   */
  keep?(trimmed: T, whole: T): T;
}

/** How a kind's queue differs from the default; see ControllerOptions. */
interface KindQueue<Work extends KubeObject> {
  /** The objects to reconcile, instead of the objects of the kind. */
  readonly store?: QueueSource<Work>;
  readonly predicate?: (change: StoreChange<Work>) => boolean;
  readonly isRequest?: (change: StoreChange<Work>) => boolean;
  readonly resourceOf?: (object: Work) => string | undefined;
  readonly isUrgent?: (object: Work) => boolean;
  readonly isLarge?: (object: Work) => boolean;
  /** Whether the queue gets the full `--concurrency`; otherwise it gets a quarter. */
  readonly isMain?: boolean;
}

interface ModuleReconciler<Work extends KubeObject = KubeObject> {
  readonly reconcile: Reconcile<Work>;
  /** Must be called when an object is no longer in the cache. */
  readonly onGone: (key: ObjectKey) => void;
  /** Data that would be lost if the process ended. */
  readonly unsaved?: Unsaved;
}

export interface Unsaved {
  /** The process must not end while this is not 0. */
  readonly count: number;
  /** Tries to write each unsaved item once; rejects with the first failure. */
  save(signal: AbortSignal): Promise<void>;
}

/** A module without the types of its objects, so that modules can be listed. */
export function defineModule<T extends KubeObject, Parts = unknown, Work extends KubeObject = T>(
  module: KindModule<T, Parts, Work>,
): KindModule<KubeObject, Parts> {
  return module as unknown as KindModule<KubeObject, Parts>;
}
