/** The operator's view of one kind of object, in memory. */
import {
  compareResourceVersions,
  type KubeObject,
  keyOf,
  keyText,
  type ObjectKey,
  parseKey,
} from "../resource.ts";
import type { Store, StoreChange, WriteTracker } from "./store.ts";
import { type IndexFunction, StoreIndex } from "./store-index.ts";
import { StoreScope } from "./store-scope.ts";

export interface StoreOptions<T> {
  readonly indexes?: Readonly<Record<string, IndexFunction<T>>>;
  /** Gets errors thrown by listeners and index functions. */
  readonly onListenerError: (error: unknown) => void;
}

/** A store that can be written. Each scope has one reflector that writes it. */
export interface WritableStore<T extends KubeObject> extends Store<T>, WriteTracker {
  readonly size: number;
  /**
   * Declares that a reflector will fill `namespace` ("" for all namespaces or for cluster-scoped kinds). The store is
   * synced once all its scopes are synced, so all scopes must be opened before the first scope is filled.
   */
  openScope(namespace: string): StoreWriter<T>;
}

export interface StoreWriter<T extends KubeObject> {
  /**
   * Must be called before a listing is requested. The returned function takes the complete listing, which replaces the
   * content in one step; missing objects are reported as deleted. If the listing fails, do not call the function.
   */
  beginReplace(): (objects: Iterable<T>, version: string) => void;
  /** Stores the object of an event; drops the object of an older, replayed event. */
  put(object: T): void;
  /** Removes an object. `object` is its last state with the version of the deletion. */
  remove(object: T): void;
  /** Records that every event up to `version` has been delivered (a bookmark). */
  advance(version: string): void;
  /** Whether an event is missing: one of our writes is not newer than the delivered events but not in the store. */
  readonly hasMissed: boolean;
}

export function createStore<T extends KubeObject>(options: StoreOptions<T>): WritableStore<T> {
  return new MemoryStore(options);
}

class MemoryStore<T extends KubeObject> implements WritableStore<T> {
  readonly #objects = new Map<string, T>();
  readonly #scopes = new Map<string, StoreScope>();
  readonly #indexes: ReadonlyMap<string, StoreIndex<T>>;
  readonly #listeners = new Set<(change: StoreChange<T>) => void>();
  readonly #onListenerError: (error: unknown) => void;
  #listed: readonly T[] | undefined;

  constructor({ indexes = {}, onListenerError }: StoreOptions<T>) {
    this.#onListenerError = onListenerError;
    this.#indexes = new Map(
      Object.entries(indexes).map(([name, valuesOf]) => [
        name,
        new StoreIndex(valuesOf, onListenerError),
      ]),
    );
  }

  get synced(): boolean {
    if (this.#scopes.size === 0) return false;
    return [...this.#scopes.values()].every((scope) => scope.version !== undefined);
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: ObjectKey): T | undefined {
    return this.#objects.get(keyText(key));
  }

  list(): readonly T[] {
    this.#listed ??= [...this.#objects.values()];
    return this.#listed;
  }

  byIndex(index: string, value: string): readonly T[] {
    return this.#index(index).get(value);
  }

  countByIndex(index: string, value: string): number {
    return this.#index(index).count(value);
  }

  note(object: KubeObject): void {
    const { resourceVersion } = object.metadata;
    if (resourceVersion === undefined) return;
    const key = keyOf(object);
    this.#scopeOf(key)?.note(keyText(key), resourceVersion);
  }

  async track<W extends KubeObject>(_: ObjectKey, send: () => Promise<W>): Promise<W> {
    const written = await send();
    this.note(written);
    return written;
  }

  isCurrent(key: ObjectKey): boolean {
    return this.#scopeOf(key)?.isCurrent(keyText(key)) ?? true;
  }

  subscribe(listener: (change: StoreChange<T>) => void): () => void {
    const subscription = (change: StoreChange<T>) => listener(change);
    this.#listeners.add(subscription);
    return () => {
      this.#listeners.delete(subscription);
    };
  }

  openScope(namespace: string): StoreWriter<T> {
    const overlaps = namespace === "" ? this.#scopes.size > 0 : this.#scopes.has("");
    if (overlaps || this.#scopes.has(namespace)) {
      throw new Error(`the store's scope "${namespace}" overlaps with another scope`);
    }
    const scope = new StoreScope((key, version) => this.#isBehind(key, version));
    this.#scopes.set(namespace, scope);
    return {
      beginReplace: () => {
        const generation = scope.beginRelist();
        return (objects, version) => this.#replace(namespace, scope, generation, objects, version);
      },
      put: (object) => this.#change(scope, object, object),
      remove: (object) => this.#change(scope, object, undefined),
      advance: (version) => scope.advance(version),
      get hasMissed() {
        return scope.hasMissed;
      },
    };
  }

  #isBehind(key: string, version: string): boolean {
    const stored = this.#objects.get(key)?.metadata.resourceVersion;
    return stored !== undefined && compareResourceVersions(stored, version) < 0;
  }

  #index(name: string): StoreIndex<T> {
    const found = this.#indexes.get(name);
    if (found === undefined) throw new Error(`unknown index ${name}`);
    return found;
  }

  #scopeOf({ namespace }: ObjectKey): StoreScope | undefined {
    return this.#scopes.get("") ?? this.#scopes.get(namespace);
  }

  #change(scope: StoreScope, object: T, next: T | undefined): void {
    const version = object.metadata.resourceVersion;
    if (version !== undefined && scope.covers(version)) return;
    const changes = this.#set(keyText(keyOf(object)), next);
    if (version !== undefined) scope.advance(version);
    this.#notify(changes);
  }

  #replace(
    namespace: string,
    scope: StoreScope,
    generation: number,
    objects: Iterable<T>,
    version: string,
  ): void {
    const next = new Map<string, T>();
    for (const object of objects) next.set(keyText(keyOf(object)), object);
    const changes: StoreChange<T>[] = [];
    for (const [key, object] of this.#objects) {
      const isOurs = namespace === "" || object.metadata.namespace === namespace;
      if (isOurs && !next.has(key)) changes.push(...this.#set(key, undefined));
    }
    for (const [key, object] of next) {
      if (!isSame(this.#objects.get(key), object)) changes.push(...this.#set(key, object));
    }
    scope.relisted(generation, version);
    this.#notify(changes);
  }

  /** Updates content and indexes, and returns the changes for the listeners. */
  #set(key: string, next: T | undefined): readonly StoreChange<T>[] {
    const old = this.#objects.get(key);
    if (next === undefined) this.#objects.delete(key);
    else this.#objects.set(key, next);
    for (const index of this.#indexes.values()) index.replace(key, old, next);
    this.#listed = undefined;
    return changesOf(parseKey(key), old, next);
  }

  /** Runs only after content, indexes and marks are consistent, because listeners read the store. */
  #notify(changes: readonly StoreChange<T>[]): void {
    for (const change of changes) {
      for (const listener of this.#listeners) this.#call(listener, change);
    }
  }

  #call(listener: (change: StoreChange<T>) => void, change: StoreChange<T>): void {
    try {
      listener(change);
    } catch (error) {
      this.#onListenerError(error);
    }
  }
}

/** An object with a new UID is a different object: the deletion of its predecessor was not observed. */
function changesOf<T extends KubeObject>(
  key: ObjectKey,
  old: T | undefined,
  next: T | undefined,
): readonly StoreChange<T>[] {
  if (old === undefined && next === undefined) return [];
  if (old !== undefined && next !== undefined && old.metadata.uid !== next.metadata.uid) {
    return [
      { key, old, new: undefined },
      { key, old: undefined, new: next },
    ];
  }
  return [{ key, old, new: next }];
}

function isSame(a: KubeObject | undefined, b: KubeObject): boolean {
  return (
    a?.metadata.uid === b.metadata.uid &&
    a?.metadata.resourceVersion !== undefined &&
    a.metadata.resourceVersion === b.metadata.resourceVersion
  );
}
