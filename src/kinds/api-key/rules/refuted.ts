/** What stopped the next key at an earlier run, and what this run has read instead. Pure. */
import { SECRET_IMMUTABLE } from "../../../api/issuance.ts";
import { PLAN_ONLY } from "../../../reconciler/rules/plan-only.ts";
import type { SecretView } from "../secret/view.ts";
import type { ApiKeySnapshot } from "./snapshot.ts";

/** Every run knows whether it still finds these. */
const IN_EVERY_RUN: ReadonlySet<string> = new Set(["Suspended", PLAN_ONLY, "InvalidSpec"]);

/** Whether a stop of that reason would have been found again. */
export function isRefuted(
  reason: string,
  { target, pending }: Pick<ApiKeySnapshot, "target" | "pending">,
): boolean {
  if (reason === SECRET_IMMUTABLE) return isRead(target);
  if (reason === "SecretConflict") return isRead(target) && isRead(pending);
  return IN_EVERY_RUN.has(reason);
}

function isRead({ kind }: SecretView): boolean {
  return kind !== "Unread" && kind !== "Unlisted";
}
