/** What other kinds conclude from the status of a ServiceAccount about its account. Pure. */
import { findCondition } from "../api/conditions.ts";
import { isRevoking } from "../api/revoking.ts";
import type { ServiceAccount } from "../api/service-account.ts";
import { isUnanswered } from "../console/errors.ts";

/** Whether the object imports another account than its status names: the status was edited, or is from before. */
export function importsOther({ spec, status }: ServiceAccount): boolean {
  return spec?.saId !== undefined && spec.saId !== status?.saId;
}

/** Whether the console's last answer showed the object's own account, and no other object has claimed it since. */
export function ownsAccount(object: ServiceAccount): boolean {
  return object.status?.ownership === "Owned" && !importsOther(object);
}

/**
 * Whether the account is ready, as far as is known: a console that does not answer proves nothing about it, and an
 * account whose access is being revoked is in order.
 */
export function isUsable(account: ServiceAccount): boolean {
  const { status: ready, reason = "" } = findCondition(account.status?.conditions, "Ready") ?? {};
  return ownsAccount(account) && (ready === "True" || isUnanswered(reason) || isRevoking(reason));
}
