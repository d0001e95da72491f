/** Collects a listing, which stays invisible until it is complete. */

import { type KubeObject, keyOf, keyText } from "../resource.ts";
import type { StoreWriter } from "../store/memory-store.ts";

export class Collection<T extends KubeObject> {
  /** Replaces the store's content in one step. */
  readonly replace: (objects: Iterable<T>, version: string) => void;
  readonly #objects = new Map<string, T>();

  /** Must be constructed before the listing is requested. */
  constructor(writer: StoreWriter<T>) {
    this.replace = writer.beginReplace();
  }

  /** Changes can arrive between initial objects. */
  collect(object: T, deleted: boolean): void {
    const key = keyText(keyOf(object));
    if (deleted) this.#objects.delete(key);
    else this.#objects.set(key, object);
  }

  swap(version: string): void {
    this.replace(this.#objects.values(), version);
    this.#objects.clear();
  }
}
