/** The operator's finalizer on objects of its own kinds. */
import { FINALIZER } from "../api/meta.ts";
import * as finalizer from "../kube/client/finalizer.ts";
import type { KubeObject, ResourceType } from "../kube/resource.ts";
import type { Context } from "./context.ts";

export function hasFinalizer(object: KubeObject): boolean {
  return finalizer.hasFinalizer(object, FINALIZER);
}

/** The object as it would be with the finalizer. */
export function withFinalizer<T extends KubeObject>(object: T): T {
  if (hasFinalizer(object)) return object;
  const { finalizers = [] } = object.metadata;
  return { ...object, metadata: { ...object.metadata, finalizers: [...finalizers, FINALIZER] } };
}

/**
 * Keeps the object until the finalizer is removed. Returns the written object; rejects with Conflict if it has changed.
 */
export async function addFinalizer<T extends KubeObject>(
  { kube }: Pick<Context, "kube">,
  type: ResourceType<T>,
  object: T,
): Promise<T> {
  return finalizer.addFinalizer(kube, type, object, FINALIZER);
}

/** Resolves even if the finalizer is already removed. */
export async function removeFinalizer<T extends KubeObject>(
  { kube }: Pick<Context, "kube">,
  type: ResourceType<T>,
  object: T,
): Promise<void> {
  await finalizer.removeFinalizer(kube, type, object, FINALIZER);
}
