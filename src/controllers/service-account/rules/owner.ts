/** Which of all objects that name an account it belongs to. Pure. */
import type { ServiceAccount } from "../../../api/service-account.ts";
import { originOf } from "../../connection-origin.ts";
import { desiredAccount } from "./desired-account.ts";
import type { AccountSnapshot, Claim, ConsoleScope } from "./snapshot.ts";

/** The other object that the account belongs to; `undefined` where it is nobody's or the object's own. */
export function otherOwnerOf(saId: string, snapshot: AccountSnapshot): ServiceAccount | undefined {
  const owner = resolveOwner(saId, scopeOf(snapshot), snapshot.claims.get(saId) ?? []);
  return owner?.metadata.uid === snapshot.object.metadata.uid ? undefined : owner;
}

/** Whether any other object names the account; for accounts that this object does not name itself. */
export function isNamedByOther(saId: string, snapshot: AccountSnapshot): boolean {
  const own = scopeOf(snapshot);
  return (snapshot.claims.get(saId) ?? []).some(
    ({ object, scope }) =>
      object.metadata.uid !== snapshot.object.metadata.uid && isSameScope(scope, own),
  );
}

/**
 * The object that an account belongs to: of all that claim it, the oldest. An object claims the account that
 * its status names, and one that it wants to import and may.
 */
export function resolveOwner(
  saId: string,
  scope: ConsoleScope | undefined,
  claims: readonly Claim[],
): ServiceAccount | undefined {
  return claims
    .filter(
      ({ object, scope: theirs, mayImport }) =>
        isSameScope(theirs, scope) &&
        (object.status?.saId === saId || (object.spec.saId === saId && mayImport)),
    )
    .map(({ object }) => object)
    .sort(byAge)[0];
}

function scopeOf(snapshot: AccountSnapshot): ConsoleScope | undefined {
  const { connection, account } = snapshot;
  if (!connection.ok) return undefined;
  const orgId = account?.orgId ?? desiredAccount(snapshot).orgId;
  return { origin: originOf(connection.access.spec.baseURL), orgId };
}

/** Who has no scope claims nothing. */
function isSameScope(one: ConsoleScope | undefined, other: ConsoleScope | undefined): boolean {
  return one !== undefined && one.origin === other?.origin && one.orgId === other.orgId;
}

function byAge(a: ServiceAccount, b: ServiceAccount): number {
  const [olderA, olderB] = [ageOf(a), ageOf(b)];
  if (olderA !== olderB) return olderA < olderB ? -1 : 1;
  return a.metadata.uid < b.metadata.uid ? -1 : 1;
}

/** RFC 3339 in UTC with whole seconds: the texts sort as the times do. */
function ageOf({ metadata }: ServiceAccount): string {
  return metadata.creationTimestamp ?? "";
}
