/** What the controller manager does: garbage collection by owners, and the end of namespaces. */

import { collectionPath } from "../../../src/kube/api-path.ts";
import type { ApiServer } from "./server.ts";
import { type Entry, placeOf } from "./storage.ts";
import { isTree, listAt, type Tree, textAt, treeAt } from "./tree.ts";

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
    const owners = listAt(treeAt(object, "metadata"), "ownerReferences");
    return owners.length > 0 && owners.every((owner) => isTree(owner) && !uids.has(owner.uid));
  });
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
