import { isKubeError } from "../errors.ts";
import { type KubeObject, keyOf, type ResourceType } from "../resource.ts";
import type { KubeClient } from "./client.ts";

/** Whether the object carries the finalizer. */
export function hasFinalizer({ metadata }: KubeObject, finalizer: string): boolean {
  return metadata.finalizers?.includes(finalizer) ?? false;
}

/**
 * Adds a finalizer to the object as it was read; to be done before anything that would need cleaning up.
 * Gives the object back unchanged where it has the finalizer or is being deleted: then it is too late.
 *
 * Rejects with Conflict where the object has changed or was re-created since, and with NotFound where it is
 * gone: nothing was written, and the pass starts again from what is true.
 */
export async function addFinalizer<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  object: T,
  finalizer: string,
): Promise<T> {
  if (hasFinalizer(object, finalizer) || object.metadata.deletionTimestamp) return object;
  return setFinalizers(client, type, object, [...(object.metadata.finalizers ?? []), finalizer]);
}

/**
 * Removes a finalizer from the object as it was read; only after the cleanup has succeeded, since the object
 * may vanish at once. Resolves to the object as written, unchanged where it has no such finalizer, or
 * `undefined` where it is gone already, which is as good. Rejects with Conflict as {@link addFinalizer} does.
 */
export async function removeFinalizer<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  object: T,
  finalizer: string,
): Promise<T | undefined> {
  if (!hasFinalizer(object, finalizer)) return object;
  const others = object.metadata.finalizers?.filter((each) => each !== finalizer) ?? [];
  try {
    return await setFinalizers(client, type, object, others);
  } catch (error) {
    if (isKubeError(error, "NotFound")) return undefined;
    throw error;
  }
}

/** A merge patch replaces the list as a whole; the resource version makes sure that it is the list we read. */
function setFinalizers<T extends KubeObject>(
  client: KubeClient,
  type: ResourceType<T>,
  object: T,
  finalizers: readonly string[],
): Promise<T> {
  const { uid, resourceVersion } = object.metadata;
  return client.mergePatch(type, keyOf(object), {
    metadata: { uid, resourceVersion, finalizers },
  });
}
