/** What stopped the next key at an earlier run, and what this run has read instead. Pure. */
import { SECRET_IMMUTABLE } from "../../../api/issuance.ts";
import { PLAN_ONLY } from "../../../reconciler/rules/plan-only.ts";
import type { SecretView } from "../secret/view.ts";
import type { ApiKeySnapshot } from "./snapshot.ts";

/** Whether the run has read enough to find a stop of that reason again, and has not. */
export function isRefuted(
  reason: string,
  { target, pending, spec, isPlanned }: ApiKeySnapshot,
): boolean {
  switch (reason) {
    case SECRET_IMMUTABLE:
      return isRead(target);
    case "SecretConflict":
      return isRead(target) && isRead(pending);
    // A run that fails does not end as suspended.
    case "Suspended":
      return !spec.suspend;
    case PLAN_ONLY:
      return !isPlanned;
    // Only a valid spec has a run.
    case "InvalidSpec":
      return true;
    default:
      return false;
  }
}

function isRead({ kind }: SecretView): boolean {
  return kind !== "Unread" && kind !== "Unlisted";
}
