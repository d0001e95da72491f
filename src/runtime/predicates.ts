import { isDeepStrictEqual } from "node:util";
import { compareResourceVersions, type KubeObject } from "../kube/resource.ts";
import type { StoreChange } from "../kube/store/store.ts";

/**
 * Whether the reconciler must run after a change. Changes of only the status are ignored, because only the reconciler
 * writes it, unless the reconciler cannot have written the new status: its conditions are gone, or its resource
 * version is older. Added finalizers are ignored too. The generation alone would miss an annotation such as
 * "rotate now".
 */
export function ignoreStatusChanges({ old, new: object }: StoreChange<KubeObject>): boolean {
  return (
    old === undefined ||
    object === undefined ||
    finalizersVanished(old, object) ||
    hasOlderVersion(old, object) ||
    statusVanished(old, object) ||
    !isDeepStrictEqual(reconcileInputs(old), reconcileInputs(object))
  );
}

/** Whether a change of the spec or the annotations, or the start of a deletion, requests a run. */
export function isRequest({ old, new: object }: StoreChange<KubeObject>): boolean {
  return (
    old !== undefined &&
    object !== undefined &&
    !isDeepStrictEqual(requestInputs(old), requestInputs(object))
  );
}

/** Whether no run has reported on the current generation of the object. */
export function isUnseen({ new: object }: StoreChange<KubeObject & { status?: unknown }>): boolean {
  const { observedGeneration } = (object?.status ?? {}) as { observedGeneration?: number };
  return observedGeneration !== object?.metadata.generation;
}

function requestInputs({ metadata }: KubeObject): readonly unknown[] {
  return [metadata.generation, metadata.deletionTimestamp, metadata.annotations ?? {}];
}

function reconcileInputs({ metadata }: KubeObject): readonly unknown[] {
  return [
    metadata.uid,
    metadata.generation,
    metadata.deletionTimestamp,
    metadata.labels ?? {},
    metadata.annotations ?? {},
    metadata.ownerReferences ?? [],
  ];
}

/** An added finalizer does not matter to the reconciler; a removed finalizer may be ours. */
function finalizersVanished(old: KubeObject, object: KubeObject): boolean {
  const left = new Set(object.metadata.finalizers);
  return (old.metadata.finalizers ?? []).some((finalizer) => !left.has(finalizer));
}

/** Something outside the operator cleared the status. */
function statusVanished(old: KubeObject, object: KubeObject): boolean {
  return hasConditions(old) && !hasConditions(object);
}

function hasConditions(object: KubeObject & { readonly status?: unknown }): boolean {
  const { conditions = [] } = (object.status ?? {}) as { conditions?: readonly unknown[] };
  return conditions.length > 0;
}

/** The resource version is older than before: the API server was restored from a backup. */
export function hasOlderVersion({ metadata: old }: KubeObject, { metadata }: KubeObject): boolean {
  const { resourceVersion: before } = old;
  const { resourceVersion: now } = metadata;
  return before !== undefined && now !== undefined && compareResourceVersions(now, before) < 0;
}
