/** Finds objects by the values of an index function. */

/** Yields the values under which an object is found. */
export type IndexFunction<T> = (object: T) => readonly string[];

export class StoreIndex<T> {
  readonly #valuesOf: IndexFunction<T>;
  readonly #onError: (error: unknown) => void;
  readonly #found = new Map<string, Map<string, T>>();

  constructor(valuesOf: IndexFunction<T>, onError: (error: unknown) => void) {
    this.#valuesOf = valuesOf;
    this.#onError = onError;
  }

  get(value: string): readonly T[] {
    return [...(this.#found.get(value)?.values() ?? [])];
  }

  count(value: string): number {
    return this.#found.get(value)?.size ?? 0;
  }

  replace(key: string, old: T | undefined, next: T | undefined): void {
    if (old !== undefined) for (const value of this.#values(old)) this.#remove(value, key);
    if (next !== undefined) for (const value of this.#values(next)) this.#add(value, key, next);
  }

  #add(value: string, key: string, object: T): void {
    const objects = this.#found.get(value);
    if (objects === undefined) this.#found.set(value, new Map([[key, object]]));
    else objects.set(key, object);
  }

  #remove(value: string, key: string): void {
    const objects = this.#found.get(value);
    objects?.delete(key);
    if (objects?.size === 0) this.#found.delete(value);
  }

  /** Stored objects may be older than the schema, so an index function may get unexpected values and throw. */
  #values(object: T): readonly string[] {
    try {
      return this.#valuesOf(object);
    } catch (error) {
      this.#onError(error);
      return [];
    }
  }
}
