/** Accounts that a creation for the object made in addition: its call took effect late or twice. Pure. */
import { keyOf } from "../../../kube/resource.ts";
import type { Instant } from "../../../util/time.ts";
import type { EventOf } from "../../frame/rules/report.ts";
import { isOfObject } from "../../marker.ts";
import type { AccountSnapshot } from "./snapshot.ts";
import { type AccountStatus, accountStatusCodec } from "./status.ts";

/** The most accounts that the status lists. */
const MAX_LISTED = 20;

export type OrphanedAccount = NonNullable<AccountStatus["orphanedAccounts"]>[number];

/**
 * What the last list shows, or what was found before. An object without an account, or with an open attempt, may still take
 * an account in.
 */
export function orphanedAccounts(
  snapshot: AccountSnapshot,
  now: Instant,
): readonly OrphanedAccount[] | undefined {
  const { object, account, attempt, markedAccounts, namedAccounts } = snapshot;
  const before = (accountStatusCodec.decode(object.status).orphanedAccounts ?? []).filter(
    ({ saId }) => saId !== account?.saId && !namedAccounts.has(saId),
  );
  const isSettled = account !== undefined && attempt === undefined;
  if (markedAccounts === undefined || !isSettled) return before.length === 0 ? undefined : before;
  const key = keyOf(object);
  const found = markedAccounts
    .filter(
      ({ saId, description }) =>
        saId !== account.saId &&
        !namedAccounts.has(saId) &&
        isOfObject(description, key, object.metadata.uid),
    )
    .slice(0, MAX_LISTED)
    .map(({ saId }) => before.find((each) => each.saId === saId) ?? { saId, observedTime: now });
  return found.length === 0 ? undefined : found;
}

export function orphanedAccountEvents(
  { object }: AccountSnapshot,
  accounts: readonly OrphanedAccount[] = [],
): readonly EventOf[] {
  const known = new Set(object.status?.orphanedAccounts?.map(({ saId }) => saId));
  return accounts
    .filter(({ saId }) => !known.has(saId))
    .map(({ saId }) => {
      const note = `The console lists service account ${saId}, which was also created for this object: a creation took effect late or twice. The operator never uses it. Delete it in the console.`;
      return {
        object,
        event: { type: "Warning", reason: "OrphanedAccount", action: "Audit", note },
      };
    });
}
