import type { KubeObject, ObjectKey } from "../resource.ts";

/** A change of a stored object. An object that was re-created under its name comes as two changes. */
export interface StoreChange<T> {
  readonly key: ObjectKey;
  readonly old: T | undefined;
  readonly new: T | undefined;
}

/** What learns of the operator's own writes before the watch tells of them. */
export interface WriteTracker {
  /** Sends a write of the object with that key, and resolves with its answer, the object as written. Rejects as `send` does. */
  track<T extends KubeObject>(key: ObjectKey, send: () => Promise<T>): Promise<T>;
}

/** The operator's view of one kind of object: written by its reflector alone, read by everyone. */
export interface Store<T extends KubeObject = KubeObject> {
  /** Whether the first complete listing has arrived. Stays true during a relist. */
  readonly synced: boolean;
  get(key: ObjectKey): T | undefined;
  list(): readonly T[];
  /** Objects whose index function (given at construction) yields `value`. */
  byIndex(index: string, value: string): readonly T[];
  /** How many objects {@link byIndex} yields. */
  countByIndex(index: string, value: string): number;
  /** Whether the store has seen our own last write of that object (read your own writes). */
  isCurrent(key: ObjectKey): boolean;
  /** Calls `listener` after every change. An exception of one listener is logged and harms no other. */
  subscribe(listener: (change: StoreChange<T>) => void): () => void;
}
