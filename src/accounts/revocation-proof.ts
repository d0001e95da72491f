import type { ServiceAccountStatus } from "../api/service-account.ts";

type Bindings = ServiceAccountStatus["bindings"];

/** Whether a read since access was revoked showed that no policy is bound. */
export function isRevocationProven(bindings: Bindings): boolean {
  return bindings?.policyCount === 0 && bindings.revocation?.evidence === "Read";
}

/** Whether, since access was revoked, the console accepted an empty list or a read showed that no policy is bound. */
export function isRevocationSubmitted(bindings: Bindings): boolean {
  return bindings?.revocation !== undefined;
}
