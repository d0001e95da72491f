import type { KubeObject } from "../resource.ts";

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

type Stored = KubeObject["metadata"] & { readonly managedFields?: unknown };

/**
 * The object without field ownership and without kubectl's copy of the whole object, which for a Secret contains its
 * data. The operator does not read these parts, and they are most of the object.
 *
 * Creates new objects: V8 turns an object with a deleted property into a dictionary, which is larger.
 */
export function trim<T extends KubeObject>(object: T): T {
  const { managedFields: _, annotations, ...metadata } = object.metadata as Stored;
  if (annotations === undefined) return { ...object, metadata };
  const { [LAST_APPLIED]: __, ...kept } = annotations;
  return { ...object, metadata: { ...metadata, annotations: kept } };
}
