import { isDeepStrictEqual } from "node:util";
import { compareResourceVersions, type KubeObject } from "../kube/resource.ts";
import type { StoreChange } from "../kube/store/store.ts";

/**
 * Whether a change of an object is one its reconciler must see: anything but its status, which only the
 * reconciler itself writes; and a status that it cannot have written: one without conditions, or one that it has left
 * behind. Generation alone would miss an annotation such as "rotate now".
 */
export function ignoreStatusChanges({ old, new: object }: StoreChange<KubeObject>): boolean {
  return (
    old === undefined ||
    object === undefined ||
    finalizersVanished(old, object) ||
    wentBack(old, object) ||
    statusVanished(old, object) ||
    !isDeepStrictEqual(whatMatters(old), whatMatters(object))
  );
}

/** Whether somebody asks for something: by a new spec or annotation, or by deleting the object. */
export function isRequest({ old, new: object }: StoreChange<KubeObject>): boolean {
  return (
    old !== undefined &&
    object !== undefined &&
    !isDeepStrictEqual(whatIsAsked(old), whatIsAsked(object))
  );
}

/** Whether no run has reported on the object as it is asked for now. */
export function isUnseen({ new: object }: StoreChange<KubeObject & { status?: unknown }>): boolean {
  const { observedGeneration } = (object?.status ?? {}) as { observedGeneration?: number };
  return observedGeneration !== object?.metadata.generation;
}

function whatIsAsked({ metadata }: KubeObject): readonly unknown[] {
  return [metadata.generation, metadata.deletionTimestamp, metadata.annotations ?? {}];
}

function whatMatters({ metadata }: KubeObject): readonly unknown[] {
  return [
    metadata.uid,
    metadata.generation,
    metadata.deletionTimestamp,
    metadata.labels ?? {},
    metadata.annotations ?? {},
    metadata.ownerReferences ?? [],
  ];
}

/** A finalizer that was added holds nobody up; one that was taken away may have been ours. */
function finalizersVanished(old: KubeObject, object: KubeObject): boolean {
  const left = new Set(object.metadata.finalizers);
  return (old.metadata.finalizers ?? []).some((finalizer) => !left.has(finalizer));
}

/** Somebody has wiped the status. */
function statusVanished(old: KubeObject, object: KubeObject): boolean {
  return hasConditions(old) && !hasConditions(object);
}

function hasConditions(object: KubeObject & { readonly status?: unknown }): boolean {
  const { conditions = [] } = (object.status ?? {}) as { conditions?: readonly unknown[] };
  return conditions.length > 0;
}

/** The API server was restored from an older backup. */
export function wentBack({ metadata: old }: KubeObject, { metadata }: KubeObject): boolean {
  const { resourceVersion: before } = old;
  const { resourceVersion: now } = metadata;
  return before !== undefined && now !== undefined && compareResourceVersions(now, before) < 0;
}
