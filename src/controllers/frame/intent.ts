/** Stores an intent before a call that cannot be repeated. */
import { annotations, FINALIZER } from "../../api/meta.ts";
import { isKubeError } from "../../kube/errors.ts";
import { type KubeObject, keyOf, type ResourceType } from "../../kube/resource.ts";
import type { Context } from "./context.ts";
import { addFinalizer, hasFinalizer } from "./finalizers.ts";

/** The limit of an intent, in characters. The annotation stays on the object until the next intent. */
const MOST_OF_INTENT = 16_384;

/**
 * Adds the finalizer and the intent to the object as it was read, in one write. Returns the written object. If the
 * annotation is too large for the operator or for the API server, only the finalizer is added: the caller must check.
 * Rejects with Conflict if the object has changed.
 */
export async function storeIntent<T extends KubeObject>(
  { kube }: Pick<Context, "kube">,
  type: ResourceType<T>,
  object: T,
  text: string,
): Promise<T> {
  if (text.length > MOST_OF_INTENT) return addFinalizer({ kube }, type, object);
  const { uid, resourceVersion, finalizers = [] } = object.metadata;
  const metadata = {
    uid,
    resourceVersion,
    ...(hasFinalizer(object) ? {} : { finalizers: [...finalizers, FINALIZER] }),
    annotations: { [annotations.intent]: text },
  };
  try {
    return await kube.mergePatch(type, keyOf(object), { metadata });
  } catch (error) {
    if (!isKubeError(error, "Invalid")) throw error;
    return addFinalizer({ kube }, type, object);
  }
}
