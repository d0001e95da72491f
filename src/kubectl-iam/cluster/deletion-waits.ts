/** What is set on an object that makes its deletion wait. Pure. */
import { annotations, FINALIZER } from "../../api/meta.ts";
import { isPlanOnly } from "../../api/plan-only.ts";
import { hasFinalizer } from "../../kube/client/finalizer.ts";
import { type AnyObject, commandAbout } from "./kinds.ts";

/** Whether the operator removes its finalizer from the object before the object is gone. */
export function canWait(object: AnyObject): boolean {
  return hasFinalizer(object, FINALIZER);
}

/**
 * With what lets the deletion continue; `undefined` if nothing on the object makes it wait. The deletion of a suspended
 * PolicyBinding ends.
 */
export function whyDeletionWaits(object: AnyObject): string | undefined {
  if (!canWait(object)) return undefined;
  if (object.spec?.suspend === true && object.kind !== "PolicyBinding")
    return `its deletion waits, because it is suspended: ${commandAbout("resume", object)}`;
  return isPlanOnly(object)
    ? `its deletion waits until you remove the annotation ${annotations.planOnly}`
    : undefined;
}
