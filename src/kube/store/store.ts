import type { KubeObject, ObjectKey } from "../resource.ts";

/** A change of a stored object. If an object was re-created with the same name, there are two changes. */
export interface StoreChange<T> {
  readonly key: ObjectKey;
  readonly old: T | undefined;
  readonly new: T | undefined;
}

/** Tracks the operator's own writes before the watch delivers them. */
export interface WriteTracker {
  /** Sends a write of the object with this key. Resolves to the object as written; rejects like `send`. */
  track<T extends KubeObject>(key: ObjectKey, send: () => Promise<T>): Promise<T>;
  /** Lets the object count as behind until the watch has delivered this version of it. */
  note(object: KubeObject): void;
}

/** The part of a store that a queue needs. */
export type QueueSource<T extends KubeObject> = Pick<
  Store<T>,
  "synced" | "get" | "list" | "isCurrent" | "subscribe"
>;

/** The operator's view of one kind of object. Only reflectors write it; all other code reads it. */
export interface Store<T extends KubeObject = KubeObject> {
  /** Whether the first complete listing has arrived. Stays true during a relist. */
  readonly synced: boolean;
  get(key: ObjectKey): T | undefined;
  list(): readonly T[];
  /** Objects whose index function (given at construction) yields `value`. */
  byIndex(index: string, value: string): readonly T[];
  /** How many objects {@link byIndex} yields. */
  countByIndex(index: string, value: string): number;
  /** Whether the store has received our last write of this object (read your own writes). */
  isCurrent(key: ObjectKey): boolean;
  /** Calls `listener` after every change. An exception of one listener is reported and does not affect the others. */
  subscribe(listener: (change: StoreChange<T>) => void): () => void;
}
