/** The stored objects that a change of files concerns, although the files do not have them. */
import { isConnectionKind } from "../../api/fields.ts";
import { isKubeError } from "../../kube/errors.ts";
import { type KubeObject, keyOf, keyText } from "../../kube/resource.ts";
import type { Cluster } from "./cluster.ts";
import { grantedIn, readersOf, reads, type StoredObject, usersOf } from "./connection-users.ts";
import type { FileObject } from "./given-objects.ts";
import { isCustomResource, nameOf } from "./kinds.ts";

interface GivenObject {
  /** As it would be stored. */
  readonly object: FileObject;
  /** Whether it is not stored so yet. */
  readonly isChange: boolean;
}

interface Concerned {
  readonly objects: readonly StoredObject[];
  /** A line for each change of which it is unknown what it concerns. */
  readonly unlisted: readonly string[];
}

/**
 * The connections that read a changed Secret or ConfigMap, the users of these and of changed connections, and the users
 * of ClusterConnections in a changed Namespace. Rejects with KubeError, except for a missing permission.
 */
export async function concernedBy(
  cluster: Cluster,
  given: readonly GivenObject[],
  operatorNamespace: string,
): Promise<Concerned> {
  const changed = given.filter(({ isChange }) => isChange).map(({ object }) => object);
  const namespaces = changed.filter(({ kind }) => kind === "Namespace");
  const sources = changed.filter(({ kind }) => kind === "Secret" || kind === "ConfigMap");
  const isReader = (object: FileObject) =>
    sources.some((each) => reads(object, each, operatorNamespace));
  const isGiven = (stored: StoredObject) =>
    given.some(({ object }) => idOf(object) === idOf(stored));

  const readers = await listed(
    sources.map((each) => [titleOf(each), readersOf(cluster, each, operatorNamespace)]),
  );
  const connections = [
    ...given
      .filter(({ object }) => isConnectionKind(object.kind))
      .filter(({ object, isChange }) => isChange || isReader(object))
      .map(({ object }) => object),
    ...readers.objects.filter((each) => !isGiven(each)),
  ];
  const users = await listed([
    ...connections.map((each) => [titleOf(each), usersOf(cluster, each)] as const),
    ...namespaces.map((each) => [titleOf(each), grantedIn(cluster, each.metadata.name)] as const),
  ]);
  const objects = [...readers.objects, ...users.objects].filter((each) => !isGiven(each));
  return {
    objects: [...new Map(objects.map((each) => [idOf(each), each])).values()],
    unlisted: [...readers.unlisted, ...users.unlisted],
  };
}

/** Each listing with the name of the change that it is for. */
async function listed(
  listings: readonly (readonly [string, Promise<readonly StoredObject[]>])[],
): Promise<Concerned> {
  const found = await Promise.all(
    listings.map(async ([change, listing]): Promise<Concerned> => {
      try {
        return { objects: await listing, unlisted: [] };
      } catch (error) {
        if (!isKubeError(error, "Forbidden")) throw error;
        const line = `error: ${change}: what would change for the objects that use it is unknown: ${error.message}`;
        return { objects: [], unlisted: [line] };
      }
    }),
  );
  return {
    objects: found.flatMap(({ objects }) => objects),
    unlisted: found.flatMap(({ unlisted }) => unlisted),
  };
}

function titleOf(object: FileObject): string {
  const { kind, metadata } = object;
  return isCustomResource(object) ? nameOf(object) : `${kind.toLowerCase()}/${metadata.name}`;
}

function idOf(object: KubeObject): string {
  return `${object.kind} ${keyText(keyOf(object))}`;
}
