import type { KubeObject, ObjectKey } from "../kube/resource.ts";
import type { Store, StoreChange } from "../kube/store/store.ts";

/** Changes of other objects that enqueue objects of a controller's kind. */
export interface Watch {
  readonly store: Pick<Store, "synced">;
  /** Calls `enqueue` with each key and its delay in `afterMs` (0 by default). Returns a function that stops this. */
  subscribe(enqueue: (key: ObjectKey, afterMs?: number) => void): () => void;
}

/** Creates a watch that enqueues `toKeys` of each change. One run handles all changes within `gatherMs`. */
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

/** Maps a deletion to `toKeys` of the deleted object, and any other change to no keys. */
export function whenGone<T extends KubeObject>(toKeys: (object: T) => Iterable<ObjectKey>) {
  return ({ old, new: now }: StoreChange<T>): Iterable<ObjectKey> =>
    old !== undefined && now === undefined ? toKeys(old) : [];
}
