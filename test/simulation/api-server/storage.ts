/** Everything that is stored, under one revision, with its history. */
import type { FieldSet } from "./field-set.ts";
import type { ServedKind } from "./kinds.ts";
import { clone, type Tree, textAt, treeAt } from "./tree.ts";

export interface Entry {
  readonly kind: ServedKind;
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
  readonly #entries = new Map<string, Entry>();
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

  get history(): readonly Change[] {
    return this.#history;
  }

  get(kind: ServedKind, namespace: string, name: string): Entry | undefined {
    return this.#entries.get(idOf(kind, namespace, name));
  }

  /** In the order of etcd's keys. */
  list(kind: ServedKind, namespace?: string): readonly Entry[] {
    const prefix = `${kind.type.plural}.${kind.type.group}/${namespace === undefined ? "" : `${namespace}/`}`;
    return [...this.#entries]
      .filter(([id]) => id.startsWith(prefix))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, entry]) => entry);
  }

  get all(): readonly Entry[] {
    return [...this.#entries.values()];
  }

  /** Stores under a new revision, and answers what was stored. */
  put(entry: Entry): Entry {
    const previous = this.get(entry.kind, ...placeOf(entry.object))?.object;
    const stored = { ...entry, object: this.#stamped(entry.object) };
    this.#entries.set(idOf(entry.kind, ...placeOf(entry.object)), stored);
    this.#record(stored.object, entry.kind, previous);
    return stored;
  }

  /** Removes under a new revision, and answers what there was. */
  remove(entry: Entry): Tree {
    this.#entries.delete(idOf(entry.kind, ...placeOf(entry.object)));
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

  #stamped(object: Tree): Tree {
    this.#revision += 1;
    const metadata = { ...treeAt(object, "metadata"), resourceVersion: String(this.#revision) };
    return { ...clone(object), metadata };
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

function idOf({ type }: ServedKind, namespace: string, name: string): string {
  return `${type.plural}.${type.group}/${namespace}/${name}`;
}
