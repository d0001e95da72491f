/** The stored objects that a change of files concerns, although the files do not have them. */
import { isConnectionKind } from "../../api/fields.ts";
import { isKubeError } from "../../kube/errors.ts";
import { type KubeObject, keyOf, keyText } from "../../kube/resource.ts";
import type { Cluster } from "./cluster.ts";
import type { FileObject } from "./given-objects.ts";
import { isCustomResource, nameOf } from "./kinds.ts";
import { readersOf, reads, type StoredObject, usersOf } from "./object-users.ts";

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
 * The users of each changed object, and the connections that read a changed Secret or ConfigMap with their users. Rejects
 * with KubeError, except for a missing permission.
 */
export async function concernedBy(
  cluster: Cluster,
  given: readonly GivenObject[],
  operatorNamespace: string,
): Promise<Concerned> {
  const isGiven = (stored: StoredObject) =>
    given.some(({ object }) => idOf(object) === idOf(stored));
  const changed = given.filter(({ isChange }) => isChange).map(({ object }) => object);
  const sources = changed.filter(({ kind }) => kind === "Secret" || kind === "ConfigMap");
  const isReader = (object: FileObject) =>
    isConnectionKind(object.kind) && sources.some((each) => reads(object, each, operatorNamespace));
  const givenReaders = given
    .filter(({ object, isChange }) => !isChange && isReader(object))
    .map(({ object }) => object);
  const readers = await listed(sources, (each) => readersOf(cluster, each, operatorNamespace));
  const otherReaders = readers.objects.filter((each) => !isGiven(each));
  const users = await listed([...changed, ...givenReaders, ...otherReaders], (each) =>
    usersOf(cluster, each),
  );
  const objects = [...otherReaders, ...users.objects.filter((each) => !isGiven(each))];
  return {
    objects: [...new Map(objects.map((each) => [idOf(each), each])).values()],
    unlisted: [...readers.unlisted, ...users.unlisted],
  };
}

async function listed(
  changes: readonly FileObject[],
  list: (change: FileObject) => Promise<readonly StoredObject[]>,
): Promise<Concerned> {
  const found = await Promise.all(
    changes.map(async (change): Promise<Concerned> => {
      try {
        return { objects: await list(change), unlisted: [] };
      } catch (error) {
        if (!isKubeError(error, "Forbidden")) throw error;
        const line = `error: ${titleOf(change)}: what would change for the objects that use it is unknown: ${error.message}`;
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
