/** Decides which of the objects that name an account owns it. Pure. */

import type { ServiceAccount } from "../../../api/service-account.ts";
import { isCreatedEarlier } from "../../../kube/resource.ts";
import type { AccountSnapshot, Claim, ConsoleScope } from "./snapshot.ts";

/** The other object that owns the account; `undefined` if no object or this object owns it. */
export function otherOwnerOf(saId: string, snapshot: AccountSnapshot): ServiceAccount | undefined {
  const { claim, otherClaims } = snapshot;
  const rivals = (otherClaims.get(saId) ?? []).filter(
    (other) => isClaimOn(saId, claim.scope, other) && outranks(other, claim),
  );
  return rivals.sort((a, b) => (outranks(a, b) ? -1 : 1))[0]?.object;
}

/** Whether any other object names the account; for accounts that this object does not name itself. */
export function isNamedByOther(saId: string, { claim, otherClaims }: AccountSnapshot): boolean {
  return (otherClaims.get(saId) ?? []).some(({ scope }) => isSameScope(scope, claim.scope));
}

/**
 * An object claims the account in its status, unless the console showed that it is not its own, and the account that it
 * imports, if it has permission. A claim that is not proven counts only if its connection is usable.
 */
export function isClaimOn(
  saId: string,
  scope: ConsoleScope | undefined,
  { object, scope: theirs, isProven, isUsable, mayImport }: Claim,
): boolean {
  if (!isSameScope(theirs, scope)) return false;
  const { spec, status } = object;
  return status?.saId === saId && status.ownership !== "NotOwned"
    ? isProven || isUsable
    : spec.saId === saId && mayImport;
}

type RankedClaim = Pick<Claim, "object" | "isProven" | "isOfCluster">;

/**
 * Whether `one` wins the account over `other`. The claim found in this console wins, otherwise the older object. A
 * namespace's own connection never outranks a cluster connection.
 */
export function outranks(one: RankedClaim, other: RankedClaim): boolean {
  if (other.isOfCluster && !one.isOfCluster) return false;
  if (one.isProven !== other.isProven) return one.isProven;
  if (one.isOfCluster !== other.isOfCluster) return true;
  return isCreatedEarlier(one.object, other.object);
}

/** An object without a scope claims nothing. */
export function isSameScope(
  one: ConsoleScope | undefined,
  other: ConsoleScope | undefined,
): boolean {
  if (one === undefined || one.origin !== other?.origin) return false;
  return one.orgIds.some((orgId) => other.orgIds.includes(orgId));
}
