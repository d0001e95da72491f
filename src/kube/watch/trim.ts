import type { KubeObject } from "../resource.ts";

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

type Mutable = { managedFields?: unknown; annotations?: Record<string, string> };

/**
 * Drops what nobody reads and what makes up most of an object: field ownership and kubectl's copy of the
 * whole object, which for a Secret holds its data. Changes the object it is given.
 */
export function trim<T extends KubeObject>(object: T): T {
  const metadata = object.metadata as Mutable;
  delete metadata.managedFields;
  delete metadata.annotations?.[LAST_APPLIED];
  return object;
}
