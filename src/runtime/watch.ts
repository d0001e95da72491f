import type { KubeObject, ObjectKey } from "../kube/resource.ts";
import type { Store, StoreChange } from "../kube/store/store.ts";

/** Changes that enqueue objects of a controller's kind, in addition to their own. */
export interface Watch {
  readonly store: Pick<Store, "synced">;
  /** Calls back with the keys a change enqueues, and with when they are due from now, if not at once; returns the way to stop. */
  subscribe(enqueue: (key: ObjectKey, afterMs?: number) => void): () => void;
}

/** A watch by a function from a change to the keys it enqueues. All changes within `gatherMs` are met by one run. */
export function watch<T extends KubeObject>(
  store: Store<T>,
  toKeys: (change: StoreChange<T>) => Iterable<ObjectKey>,
  gatherMs = 0,
): Watch {
  return {
    store,
    subscribe: (enqueue) =>
      store.subscribe((change) => {
        for (const key of toKeys(change)) enqueue(key, gatherMs);
      }),
  };
}

/** The object that a deleted object referred to. */
export function whenGone<T extends KubeObject>(toKey: (object: T) => ObjectKey | undefined) {
  return ({ old, new: now }: StoreChange<T>): readonly ObjectKey[] => {
    const key = old !== undefined && now === undefined ? toKey(old) : undefined;
    return key === undefined ? [] : [key];
  };
}
