import { FINALIZER } from "../api/meta.ts";
import { isKubeError } from "../kube/errors.ts";
import { type KubeObject, keyOf, type ResourceType } from "../kube/resource.ts";
import type { Store } from "../kube/store.ts";
import type { Context } from "./context.ts";

type Writer = Pick<Context, "kube">;

export function hasFinalizer(object: KubeObject): boolean {
  return object.metadata.finalizers?.includes(FINALIZER) ?? false;
}

/** Holds the object until the operator lets it go; answers it as it is then. Conflict where it has changed. */
export async function addFinalizer<T extends KubeObject>(
  context: Writer,
  type: ResourceType<T>,
  store: Pick<Store<T>, "noteWrite">,
  object: T,
  signal?: AbortSignal,
): Promise<T> {
  if (hasFinalizer(object)) return object;
  const finalizers = [...(object.metadata.finalizers ?? []), FINALIZER];
  const written = await patch(context, type, object, finalizers, signal);
  store.noteWrite(written);
  return written;
}

/** Lets the object go. Resolves also where it is already gone. */
export async function removeFinalizer<T extends KubeObject>(
  context: Writer,
  type: ResourceType<T>,
  object: T,
  signal?: AbortSignal,
): Promise<void> {
  if (!hasFinalizer(object)) return;
  const finalizers = (object.metadata.finalizers ?? []).filter((name) => name !== FINALIZER);
  try {
    await patch(context, type, object, finalizers, signal);
  } catch (error) {
    if (!isKubeError(error, "NotFound")) throw error;
  }
}

function patch<T extends KubeObject>(
  context: Writer,
  type: ResourceType<T>,
  object: T,
  finalizers: readonly string[],
  signal: AbortSignal | undefined,
): Promise<T> {
  const { uid, resourceVersion } = object.metadata;
  return context.kube.mergePatch(
    type,
    keyOf(object),
    { metadata: { uid, resourceVersion, finalizers } },
    signal === undefined ? {} : { signal },
  );
}
