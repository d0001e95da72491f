import { isDeepStrictEqual } from "node:util";
import type { KubeObject } from "../kube/resource.ts";
import type { StoreChange } from "../kube/store.ts";

/**
 * Whether a change of an object is one its reconciler must see: anything but its status. Generation alone
 * would miss an annotation such as "rotate now".
 */
export function isMoreThanStatus({ old, new: object }: StoreChange<KubeObject>): boolean {
  return (
    old === undefined ||
    object === undefined ||
    !isDeepStrictEqual(whatMatters(old), whatMatters(object))
  );
}

function whatMatters({ metadata }: KubeObject): readonly unknown[] {
  return [
    metadata.uid,
    metadata.generation,
    metadata.deletionTimestamp,
    metadata.labels ?? {},
    metadata.annotations ?? {},
    metadata.finalizers ?? [],
    metadata.ownerReferences ?? [],
  ];
}
