/**
 * Finds the account of a deleted object whose status names none. The status may have been lost in a restore or an edit,
 * and then nothing would unbind the account's policies. Pure.
 */
import type { Waiting } from "../../../reconciler/rules/outcome.ts";
import { reconciling } from "../../../reconciler/rules/waiting.ts";
import { judgeAnswer } from "./account.ts";
import { type FoundAccount, ownAccount } from "./attempt.ts";
import { type Blocked, blockedBy } from "./blocked.ts";
import { desiredAccount } from "./desired-account.ts";
import { isNamedByOther, otherOwnerOf } from "./owner.ts";
import { findLost } from "./recovery.ts";
import type { AccountSnapshot, Answered, Listed } from "./snapshot.ts";

export type LostAccount =
  | FoundAccount
  /** The object has no account. */
  | { readonly kind: "Nothing" }
  /** The console has accounts that may be the object's, and does not show who created them. */
  | { readonly kind: "Unclear"; readonly saIds: readonly string[] }
  /** It is unknown whether the object has an account. */
  | Blocked;

/** The account that was created for the object. */
export function findCreated(snapshot: Listed): LostAccount {
  const { listing } = snapshot;
  if (!listing.ok) return blockedBy(unlisted(listing.code));
  const isNamed = (saId: string) => isNamedByOther(saId, snapshot);
  const found = findLost(listing.accounts, desiredAccount(snapshot), isNamed);
  if (found.kind !== "Found") return found;
  // Another object may have imported it since.
  return isNamed(found.account.saId)
    ? { kind: "Nothing" }
    : ownAccount(found.account, "Recovered", snapshot);
}

/** An account that another object has is left to it. */
export function leftToOwner(saId: string, snapshot: AccountSnapshot): LostAccount | undefined {
  return otherOwnerOf(saId, snapshot) === undefined ? undefined : { kind: "Nothing" };
}

/** The account that the object imports, on the same conditions as at its import. */
export function findImported(snapshot: Answered): LostAccount {
  const { account } = judgeAnswer(snapshot);
  return account === undefined
    ? { kind: "Nothing" }
    : { kind: "Found", because: "Imported", account };
}

function unlisted(code: string): Waiting {
  return reconciling(
    "AccountUnknown",
    `The status does not name the account, and the console's accounts cannot be listed (${code}), so it is unknown whether an account exists whose policies must be unbound. If no account exists, or to leave the account as it is, set spec.deletionPolicy: Retain to end the deletion at once.`,
  );
}
