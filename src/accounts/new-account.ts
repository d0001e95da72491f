import { findCondition } from "../api/conditions.ts";
import type { ServiceAccount } from "../api/service-account.ts";

/** The reason of an account that is being created. */
export const CREATING = "Creating";

/** Whether the Ready condition of a new account reports more than the start of its creation. */
export function isReconciled({ status }: ServiceAccount): boolean {
  const ready = findCondition(status?.conditions, "Ready");
  return ready !== undefined && ready.reason !== CREATING;
}
