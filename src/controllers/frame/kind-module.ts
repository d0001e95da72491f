import type { KubeObject, ObjectKey, ResourceType } from "../../kube/resource.ts";
import type { Store, StoreChange } from "../../kube/store/store.ts";
import type { IndexFunction } from "../../kube/store/store-index.ts";
import type { Metrics } from "../../observability/metrics.ts";
import type { Reconcile } from "../../runtime/result.ts";
import type { Watch } from "../../runtime/watch.ts";
import type { Caches, Context } from "./context.ts";

/**
 * Everything about a kind that is not its schema. The list of all modules is `controllers/kinds.ts`. `Parts` is what the
 * kind needs in addition to the Context, and `Work` what its queue holds: its objects, unless `queue` names another store.
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
   * The object whose labels decide which of several operators works on this one; `undefined`: each of them does. Absent:
   * the object itself.
   */
  selectedBy?(object: T, caches: Caches): KubeObject | undefined;
  /** Tells the kind's own gauges where to collect their samples. Readiness has a gauge for all kinds. */
  gauges?(metrics: Metrics, objects: () => Iterable<T>): void;
  /** `enqueue` reconciles an object of the queue as soon as possible. */
  reconciler(
    context: Context,
    parts: Parts,
    enqueue: (key: ObjectKey) => void,
  ): ModuleReconciler<Work>;
}

/** How the objects of a kind are kept in memory. */
export interface KindCache<T extends KubeObject> {
  readonly indexes?: Readonly<Record<string, IndexFunction<T>>>;
  /**
   * What is kept of an object: `trimmed` is what is kept of a large one by default, and the object itself otherwise.
   * Absent: `trimmed`.
   */
  keep?(trimmed: T, whole: T): T;
}

/** How a kind's queue differs from the default; see ControllerOptions. */
export interface KindQueue<Work extends KubeObject> {
  /** What is reconciled, instead of the objects of the kind themselves. */
  readonly store?: Store<Work>;
  readonly predicate?: (change: StoreChange<Work>) => boolean;
  readonly isRequest?: (change: StoreChange<Work>) => boolean;
  readonly resourceOf?: (object: Work) => string | undefined;
  readonly isUrgent?: (object: Work) => boolean;
  /** Whether it gets all of `--concurrency`; a quarter of it otherwise. */
  readonly isMain?: boolean;
}

export interface ModuleReconciler<Work extends KubeObject = KubeObject> {
  readonly reconcile: Reconcile<Work>;
  /** To be called when an object is no longer in the cache. */
  readonly onGone: (key: ObjectKey) => void;
  /** What would be lost with the process. */
  readonly unsaved?: Unsaved;
}

export interface Unsaved {
  /** While it is not 0, the process must not end. */
  readonly count: number;
  /** Tries to write each of them once; rejects with the first failure. */
  save(signal: AbortSignal): Promise<void>;
}

/** A module without the types of its objects, so that modules can be listed. */
export function defineKind<T extends KubeObject, Parts = unknown, Work extends KubeObject = T>(
  module: KindModule<T, Parts, Work>,
): KindModule<KubeObject, Parts> {
  return module as unknown as KindModule<KubeObject, Parts>;
}
