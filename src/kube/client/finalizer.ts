import { isKubeError } from "../errors.ts";
import { type KubeObject, keyOf, type ResourceType } from "../resource.ts";
import type { KubeClient } from "./client.ts";

/** Whether the object has the finalizer. */
export function hasFinalizer({ metadata }: KubeObject, finalizer: string): boolean {
  return metadata.finalizers?.includes(finalizer) ?? false;
}

/**
 * Adds a finalizer to the object as it was read. Must run before any action that requires a cleanup. Resolves to the
 * unchanged object if it already has the finalizer, or if it is being deleted and it is too late.
 *
 * Rejects with Conflict if the object was changed or re-created since, and with NotFound if it no longer exists. In
 * both cases nothing was written, and the next reconcile starts from the current state.
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
 * Removes a finalizer from the object as it was read. Must run only after a successful cleanup, because the object may
 * be deleted at once. Resolves to the object as written, unchanged if it does not have the finalizer, or to `undefined`
 * if it no longer exists. Rejects with Conflict like {@link addFinalizer}.
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

/** A merge patch replaces the whole list; the resource version ensures that it is the list that was read. */
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
