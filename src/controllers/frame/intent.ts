/** Storing what is about to be done, before a call that cannot be repeated. */
import { annotations, FINALIZER } from "../../api/meta.ts";
import { isKubeError } from "../../kube/errors.ts";
import { type KubeObject, keyOf, type ResourceType } from "../../kube/resource.ts";
import type { Context } from "./context.ts";
import { addFinalizer, hasFinalizer } from "./finalizers.ts";

/** Characters. The annotation stays on the object until the next intent. */
const MOST_OF_INTENT = 16_384;

/**
 * Adds the finalizer and the intent to the object as it was read, in one write; answers it as it is then. If the annotation
 * is too large, for us or for the API server, only the finalizer is added: the caller has to look. Conflict if anybody has
 * changed the object.
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
