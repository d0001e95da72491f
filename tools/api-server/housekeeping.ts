/** What the controller manager and etcd's compactor do, each a while after there was a reason to. */
import { collectionPath } from "../../src/kube/client/api-path.ts";
import { eventType } from "../../src/kube/resource-types.ts";
import { HOUR, type Instant, MINUTE, parseInstant, SECOND } from "../../src/util/time.ts";
import type { ApiServer } from "./server.ts";
import { type Change, type Entry, placeOf } from "./storage.ts";
import { isSame, isTree, type Json, listAt, type Tree, textAt, treeAt } from "./tree.ts";

/** Where it is said what happens later. */
export interface Agenda {
  readonly now: Instant;
  schedule(ms: number, run: () => void): void;
}

const KEEP_HOUSE_MS = SECOND;
const COMPACT_MS = 5 * MINUTE;

/** From now on garbage is collected, namespaces that are to go are emptied, and history is forgotten. */
export function startHousekeeping(agenda: Agenda, server: ApiServer): void {
  const { storage } = server;
  const keepHouseLater = once(agenda, KEEP_HOUSE_MS, () => keepHouse(server));
  let forgotten = storage.revision;
  // As kube-apiserver has etcd do it: what is older than the last time it looked.
  const compactLater = once(agenda, COMPACT_MS, () => {
    forgetEvents(server, agenda.now);
    storage.compact(forgotten);
    forgotten = storage.revision;
  });
  storage.subscribe((change) => {
    if (isReason(change)) keepHouseLater();
    compactLater();
  });
}

/** Events are kept for an hour. */
function forgetEvents(server: ApiServer, now: Instant): void {
  for (const entry of server.storage.list(server.kindOf(eventType.group, eventType.plural))) {
    const created = parseInstant(textAt(treeAt(entry.object, "metadata"), "creationTimestamp"));
    if (created !== undefined && created < now - HOUR) server.storage.remove(entry);
  }
}

/** Has `run` happen `ms` after the first of any calls since it last did. */
function once(agenda: Agenda, ms: number, run: () => void): () => void {
  let isPlanned = false;
  return () => {
    if (isPlanned) return;
    isPlanned = true;
    agenda.schedule(ms, () => {
      isPlanned = false;
      run();
    });
  };
}

/** Whether a change can leave something without an owner, or is part of an ending. */
function isReason({ type, object, previous = {} }: Change): boolean {
  if (object.kind === "Event") return false;
  if (type === "DELETED" || isDeleted(object)) return true;
  const owners = ownersOf(object);
  return owners.length > 0 && !isSame(owners, ownersOf(previous));
}

/** Deletes what has lost all its owners, and empties namespaces that are to go. Answers whether it did anything. */
export function keepHouse(server: ApiServer): boolean {
  const before = server.storage.revision;
  for (const entry of orphansOf(server)) deleteEntry(server, entry);
  for (const entry of server.storage.all.filter(isEndingNamespace)) emptyNamespace(server, entry);
  return server.storage.revision !== before;
}

function orphansOf({ storage }: ApiServer): readonly Entry[] {
  const uids = new Set(storage.all.map(({ object }) => treeAt(object, "metadata").uid));
  return storage.all.filter(({ object }) => {
    const owners = ownersOf(object);
    return owners.length > 0 && owners.every((owner) => isTree(owner) && !uids.has(owner.uid));
  });
}

function ownersOf(object: Tree): readonly Json[] {
  return listAt(treeAt(object, "metadata"), "ownerReferences");
}

function isEndingNamespace({ kind, object }: Entry): boolean {
  return kind.type.kind === "Namespace" && isDeleted(object);
}

function emptyNamespace(server: ApiServer, namespace: Entry): void {
  const [, name] = placeOf(namespace.object);
  const inside = () => server.storage.all.filter(({ object }) => placeOf(object)[0] === name);
  for (const entry of inside()) if (!isDeleted(entry.object)) deleteEntry(server, entry);
  if (inside().length === 0) server.storage.remove(namespace);
}

function deleteEntry(server: ApiServer, { kind, object }: Entry): void {
  const [namespace, name] = placeOf(object);
  const { uid } = treeAt(object, "metadata");
  server.handle({
    method: "DELETE",
    url: `http://kube${collectionPath(kind.type, namespace)}/${name}`,
    headers: {},
    body: JSON.stringify({ preconditions: { uid } }),
  });
}

function isDeleted(object: Tree): boolean {
  return textAt(treeAt(object, "metadata"), "deletionTimestamp") !== undefined;
}
