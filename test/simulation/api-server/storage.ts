/** Everything that is stored, under one revision, with its history. */
import type { FieldSet } from "./field-set.ts";
import type { ServedKind } from "./kinds.ts";
import { type Tree, textAt, treeAt } from "./tree.ts";

export interface Entry {
  readonly kind: ServedKind;
  /** Never changed: the next version is another object. */
  readonly object: Tree;
  readonly owners: ReadonlyMap<string, FieldSet>;
}

export interface Change {
  readonly revision: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly kind: ServedKind;
  readonly object: Tree;
  /** As it was before; absent for ADDED. */
  readonly previous?: Tree;
}

export class Storage {
  readonly #shelves = new Map<ServedKind, Shelf>();
  readonly #listeners = new Set<(change: Change) => void>();
  #history: Change[] = [];
  #revision: number;
  #compacted = 0;

  constructor(revision = 1_000) {
    this.#revision = revision;
  }

  get revision(): number {
    return this.#revision;
  }

  /** What happened up to here is forgotten. */
  get compacted(): number {
    return this.#compacted;
  }

  /** What happened after a revision. */
  since(revision: number): readonly Change[] {
    const first = this.#history.findLastIndex((change) => change.revision <= revision) + 1;
    return this.#history.slice(first);
  }

  get(kind: ServedKind, namespace: string, name: string): Entry | undefined {
    return this.#shelf(kind).get(namespace, name);
  }

  /** In the order of etcd's keys. */
  list(kind: ServedKind, namespace?: string): readonly Entry[] {
    const { entries } = this.#shelf(kind);
    return namespace === undefined
      ? entries
      : entries.filter(({ object }) => placeOf(object)[0] === namespace);
  }

  get all(): readonly Entry[] {
    return [...this.#shelves.values()].flatMap(({ entries }) => entries);
  }

  /** Stores under a new revision, and answers what was stored. */
  put(entry: Entry): Entry {
    const stored = { ...entry, object: this.#stamped(entry.object) };
    const previous = this.#shelf(entry.kind).put(stored)?.object;
    this.#record(stored.object, entry.kind, previous);
    return stored;
  }

  /** Removes under a new revision, and answers what there was. */
  remove(entry: Entry): Tree {
    this.#shelf(entry.kind).remove(...placeOf(entry.object));
    const object = this.#stamped(entry.object);
    this.#tell({
      revision: this.#revision,
      type: "DELETED",
      kind: entry.kind,
      object,
      previous: entry.object,
    });
    return object;
  }

  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Forgets the history up to `revision`. */
  compact(revision = this.#revision): void {
    this.#compacted = Math.max(this.#compacted, revision);
    this.#history = this.#history.filter((change) => change.revision > revision);
  }

  #shelf(kind: ServedKind): Shelf {
    const found = this.#shelves.get(kind);
    if (found !== undefined) return found;
    const shelf = new Shelf();
    this.#shelves.set(kind, shelf);
    return shelf;
  }

  #stamped(object: Tree): Tree {
    this.#revision += 1;
    const metadata = { ...treeAt(object, "metadata"), resourceVersion: String(this.#revision) };
    return { ...object, metadata };
  }

  #record(object: Tree, kind: ServedKind, previous: Tree | undefined): void {
    const type = previous === undefined ? "ADDED" : "MODIFIED";
    const change = { revision: this.#revision, type, kind, object } as const;
    this.#tell(previous === undefined ? change : { ...change, previous });
  }

  #tell(change: Change): void {
    this.#history.push(change);
    for (const listener of [...this.#listeners]) listener(change);
  }
}

export function placeOf(object: Tree): [namespace: string, name: string] {
  const metadata = treeAt(object, "metadata");
  return [textAt(metadata, "namespace") ?? "", textAt(metadata, "name") ?? ""];
}

/** The objects of one kind. */
class Shelf {
  readonly #entries = new Map<string, Entry>();
  #sorted: readonly Entry[] | undefined = [];

  /** In the order of etcd's keys. */
  get entries(): readonly Entry[] {
    this.#sorted ??= [...this.#entries]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, entry]) => entry);
    return this.#sorted;
  }

  get(namespace: string, name: string): Entry | undefined {
    return this.#entries.get(`${namespace}/${name}`);
  }

  /** Answers what was there before. */
  put(entry: Entry): Entry | undefined {
    const id = placeOf(entry.object).join("/");
    const previous = this.#entries.get(id);
    this.#entries.set(id, entry);
    this.#sorted = undefined;
    return previous;
  }

  remove(namespace: string, name: string): void {
    this.#entries.delete(`${namespace}/${name}`);
    this.#sorted = undefined;
  }
}
