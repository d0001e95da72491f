import type { KubeObject } from "../resource.ts";

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

type Stored = KubeObject["metadata"] & { readonly managedFields?: unknown };

/**
 * The object without what nobody reads and what makes up most of it: field ownership and kubectl's copy of the
 * whole object, which for a Secret holds its data.
 *
 * Makes new objects: of one from which a property was deleted, V8 makes a dictionary, which is larger.
 */
export function trim<T extends KubeObject>(object: T): T {
  const { managedFields: _, annotations, ...metadata } = object.metadata as Stored;
  if (annotations === undefined) return { ...object, metadata };
  const { [LAST_APPLIED]: __, ...kept } = annotations;
  return { ...object, metadata: { ...metadata, annotations: kept } };
}
