/** Everything that is stored, under one revision, with its history. */
import type { FieldSet } from "./field-set.ts";
import type { ServedKind } from "./kinds.ts";
import { type Tree, textAt, treeAt } from "./tree.ts";

export interface Entry {
  readonly kind: ServedKind;
  /** Never changed: the next version is another object. */
  readonly object: Tree;
  readonly owners: ReadonlyMap<string, FieldSet>;
  /** The status is a default that is shown and not stored: any write stores it, even one that changes nothing. */
  readonly hasUnstoredStatus?: boolean;
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
  readonly #onRestore = new Set<() => void>();
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

  /** As it was at an earlier revision, as far as that is remembered. */
  listAt(revision: number, kind: ServedKind, namespace?: string): readonly Tree[] {
    const found = new Map(this.list(kind, namespace).map(({ object }) => [idOf(object), object]));
    for (const { object, previous, ...change } of this.since(revision).toReversed()) {
      const isOfIt = namespace === undefined || placeOf(object)[0] === namespace;
      if (change.kind !== kind || !isOfIt) continue;
      if (previous === undefined) found.delete(idOf(object));
      else found.set(idOf(object), previous);
    }
    return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
  }

  snapshot(): Snapshot {
    return { revision: this.#revision, entries: this.all };
  }

  /** Goes back to a snapshot, as etcd does from a backup; all watches break. Versions go back too, or are bumped. */
  restore({ revision, entries }: Snapshot, bumped: boolean): void {
    this.#shelves.clear();
    for (const entry of entries) this.#shelf(entry.kind).put(entry);
    this.#history = [];
    this.#revision = bumped ? this.#revision + BUMP : revision;
    this.#compacted = this.#revision;
    for (const listener of [...this.#onRestore]) listener();
  }

  /** Tells of every restore. */
  onRestore(listener: () => void): () => void {
    this.#onRestore.add(listener);
    return () => void this.#onRestore.delete(listener);
  }

  get all(): readonly Entry[] {
    return [...this.#shelves.values()].flatMap(({ entries }) => entries);
  }

  /** Caches under a new revision, and answers what was stored. */
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

function idOf(object: Tree): string {
  return placeOf(object).join("/");
}

/** Everything as it was at a revision. */
export interface Snapshot {
  readonly revision: number;
  readonly entries: readonly Entry[];
}

/** How far versions are moved on after a restore, so that no version comes twice. */
const BUMP = 1_000_000;

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
    const id = idOf(entry.object);
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
