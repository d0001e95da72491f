/** Accounts that were created for the object in addition to its own: a call took effect late or twice. Pure. */

import { toEvent } from "../../../api/events.ts";
import { keyOf } from "../../../kube/resource.ts";
import type { EventOf } from "../../../reconciler/rules/report.ts";
import { isOfObject } from "../../../resources/marker.ts";
import type { Instant } from "../../../util/time.ts";
import type { AccountSnapshot } from "./snapshot.ts";
import { type AccountStatus, accountStatusCodec } from "./status.ts";

/** Maximum number of accounts in the status. */
const MAX_LISTED = 20;

type OrphanedAccount = NonNullable<AccountStatus["orphanedAccounts"]>[number];

/**
 * Findings of the last list, or the earlier findings. An object without an account, or with an open attempt, keeps the
 * earlier findings, because it may still claim a listed account.
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
        (description === "" || isOfObject(description, key, object.metadata.uid)),
    )
    .slice(0, MAX_LISTED)
    .map(({ saId, description }): OrphanedAccount => {
      const observedTime = before.find((each) => each.saId === saId)?.observedTime ?? now;
      return { saId, observedTime, evidence: description === "" ? "Name" : "Description" };
    });
  return found.length === 0 ? undefined : found;
}

export function orphanedAccountEvents(
  { object }: AccountSnapshot,
  accounts: readonly OrphanedAccount[] = [],
): readonly EventOf[] {
  const known = new Set(object.status?.orphanedAccounts?.map(({ saId }) => saId));
  return accounts
    .filter(({ saId }) => !known.has(saId))
    .map(({ saId, evidence }) => {
      const note =
        evidence === "Name"
          ? `The console lists service account ${saId} under the name of this object's account, and shows no descriptions: a creation may have taken effect late or twice, or another person or program created it. The operator never uses it. Find out which before you delete it.`
          : `The console lists service account ${saId}, which was also created for this object: a creation took effect late or twice. The operator never uses it. Delete the account in the console.`;
      return { object, event: toEvent("OrphanedAccount", "Audit", note) };
    });
}
