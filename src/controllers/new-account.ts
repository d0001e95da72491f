import { findCondition } from "../api/conditions.ts";
import type { ServiceAccount } from "../api/service-account.ts";

/** The reason of an account whose creation is under way. */
export const CREATING = "Creating";

/** Whether more is said about a new account than that its creation has begun. */
export function hasHadItsTurn({ status }: ServiceAccount): boolean {
  const ready = findCondition(status?.conditions, "Ready");
  return ready !== undefined && ready.reason !== CREATING;
}
