/** A listing on its way: invisible until it is complete. */

import { type KubeObject, keyOf, keyText } from "../resource.ts";
import type { StoreWriter } from "../store/memory-store.ts";

export class Collection<T extends KubeObject> {
  /** Replaces the store's content at once. */
  readonly replace: (objects: Iterable<T>, version: string) => void;
  readonly #objects = new Map<string, T>();

  /** To be made before the listing is asked for. */
  constructor(writer: StoreWriter<T>) {
    this.replace = writer.beginReplace();
  }

  /** Changes may come between initial objects. */
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
