/** Which of all objects that name an account it belongs to. Pure. */
import type { ServiceAccount } from "../../../api/service-account.ts";
import type { AccountSnapshot, Claim, ConsoleScope } from "./snapshot.ts";

/** The other object that the account belongs to; `undefined` where it is nobody's or the object's own. */
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
 * An object claims the account that its status names, and one that it wants to import and may. A claim that is not
 * proven counts only where its connection can be used.
 */
export function isClaimOn(
  saId: string,
  scope: ConsoleScope | undefined,
  { object, scope: theirs, isProven, isUsable, mayImport }: Claim,
): boolean {
  if (!isSameScope(theirs, scope)) return false;
  return object.status?.saId === saId
    ? isProven || isUsable
    : object.spec.saId === saId && mayImport;
}

type RankedClaim = Pick<Claim, "object" | "isProven" | "isOfCluster">;

/**
 * Whether an account belongs to the first of two that claim it: the one that was found at this console, else the
 * older. A namespace's own connection never outranks one of the cluster.
 */
export function outranks(one: RankedClaim, other: RankedClaim): boolean {
  if (other.isOfCluster && !one.isOfCluster) return false;
  if (one.isProven !== other.isProven) return one.isProven;
  if (one.isOfCluster !== other.isOfCluster) return true;
  return isOlder(one.object, other.object);
}

/** Who has no scope claims nothing. */
export function isSameScope(
  one: ConsoleScope | undefined,
  other: ConsoleScope | undefined,
): boolean {
  return one !== undefined && one.origin === other?.origin && one.orgId === other.orgId;
}

export function isOlder(a: ServiceAccount, b: ServiceAccount): boolean {
  const [bornA, bornB] = [birthOf(a), birthOf(b)];
  return bornA === bornB ? a.metadata.uid < b.metadata.uid : bornA < bornB;
}

/** RFC 3339 in UTC with whole seconds: the texts sort as the times do. */
function birthOf({ metadata }: ServiceAccount): string {
  return metadata.creationTimestamp ?? "";
}
