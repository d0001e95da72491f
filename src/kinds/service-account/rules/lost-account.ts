/**
 * Finds the account of a deleted object whose status names none. The status may have been lost in a restore or an edit,
 * and then nothing would unbind the account's policies. Pure.
 */
import type { IamServiceAccount } from "../../../console/model.ts";
import type { Waiting } from "../../../reconciler/rules/outcome.ts";
import { reconciling } from "../../../reconciler/rules/waiting.ts";
import { judgeAnswer } from "./account.ts";
import { recordAccount } from "./attempt.ts";
import { desiredAccount } from "./desired-account.ts";
import { isNamedByOther, otherOwnerOf } from "./owner.ts";
import { findLost } from "./recovery.ts";
import type { AccountAction, AccountSnapshot } from "./snapshot.ts";

export type LostAccount =
  | { readonly kind: "Next"; readonly action: AccountAction }
  /** The object has no account. */
  | { readonly kind: "Nothing" }
  /** The console has accounts that may be the object's, and does not show who created them. */
  | { readonly kind: "Unclear"; readonly saIds: readonly string[] }
  /** The console's accounts cannot be listed. */
  | { readonly kind: "Unknown"; readonly finding: Waiting };

/** The next read, the account, or why no account can be named. */
export function nextOfLostAccount(snapshot: AccountSnapshot): LostAccount {
  const { saId } = snapshot.spec;
  if (saId !== undefined) return findImported(saId, snapshot);
  const { listing } = snapshot;
  if (listing === undefined) return toNext({ kind: "ListAccounts" });
  return listing.ok
    ? findCreated(listing.accounts, snapshot)
    : { kind: "Unknown", finding: unlisted(listing.code) };
}

function findCreated(
  accounts: readonly IamServiceAccount[],
  snapshot: AccountSnapshot,
): LostAccount {
  const isNamed = (saId: string) => isNamedByOther(saId, snapshot);
  const found = findLost(accounts, desiredAccount(snapshot), isNamed);
  if (found.kind !== "Found") return found;
  // Another object may have imported it since.
  return isNamed(found.account.saId)
    ? { kind: "Nothing" }
    : toNext(recordAccount(found.account, "Recovered", snapshot));
}

/** Finds an imported account, on the same conditions as at its import. */
function findImported(saId: string, snapshot: AccountSnapshot): LostAccount {
  if (otherOwnerOf(saId, snapshot) !== undefined) return { kind: "Nothing" };
  const judged = judgeAnswer(snapshot);
  if (judged === undefined) return toNext({ kind: "GetAccount", saId });
  return judged.account === undefined
    ? { kind: "Nothing" }
    : toNext({ kind: "RecordAccount", because: "Imported", account: judged.account });
}

function toNext(action: AccountAction): LostAccount {
  return { kind: "Next", action };
}

function unlisted(code: string): Waiting {
  return reconciling(
    "AccountUnknown",
    `The status does not name the account, and the console's accounts cannot be listed (${code}), so it is unknown whether an account exists whose policies must be unbound. If no account exists, or to leave the account as it is, set spec.deletionPolicy: Retain to end the deletion at once.`,
  );
}
