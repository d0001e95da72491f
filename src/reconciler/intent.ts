/** Stores an intent before a call that cannot be repeated. */
import { annotations, FINALIZER } from "../api/meta.ts";
import { isKubeError } from "../kube/errors.ts";
import { type KubeObject, keyOf, type ResourceType } from "../kube/resource.ts";
import type { Context } from "./context.ts";
import { addFinalizer, hasFinalizer } from "./finalizers.ts";

/** The limit of an intent, in characters. The annotation stays on the object until the next intent. */
const MOST_OF_INTENT = 16_384;

type WithAttempt = KubeObject & {
  readonly status?: { readonly attempt?: { readonly id: string } | undefined };
};

/** What an intent is stored as, see `intentText`. */
interface Intent {
  readonly attemptId: string;
  readonly text: string;
}

/**
 * Adds the finalizer and the intent to the object as it was read, in one write. Returns the written object, and whether
 * the API server shows the intent in it. If not, for example because the annotation is too large, the object has the
 * finalizer, and the caller must store the intent in the status. Rejects with Conflict if the object has changed.
 */
export async function storeIntent<T extends WithAttempt>(
  context: Pick<Context, "kube">,
  type: ResourceType<T>,
  object: T,
  { attemptId, text }: Intent,
): Promise<{ readonly object: T; readonly isStored: boolean }> {
  const written = await annotate(context, type, object, text);
  return { object: written, isStored: written.status?.attempt?.id === attemptId };
}

async function annotate<T extends KubeObject>(
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
