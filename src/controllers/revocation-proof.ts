import type { ServiceAccountStatus } from "../api/service-account.ts";

/** Whether a call since access was revoked proved that no policy is bound. */
export function isRevocationProven(bindings: ServiceAccountStatus["bindings"]): boolean {
  return bindings?.emptiedTime !== undefined || bindings?.confirmationTime !== undefined;
}
