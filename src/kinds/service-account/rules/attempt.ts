/** Resolves a creation with an unknown outcome. Pure. */

import type { IamServiceAccount } from "../../../console/model.ts";
import type { Waiting } from "../../../reconciler/rules/outcome.ts";
import { reconciling, stalled } from "../../../reconciler/rules/waiting.ts";
import { type Instant, MINUTE } from "../../../util/time.ts";
import { truncateList } from "../../../util/truncate-list.ts";
import { fromConsole } from "./account.ts";
import { desiredAccount, expectedAccount } from "./desired-account.ts";
import { isNamedByOther } from "./owner.ts";
import { settleMs } from "./read-schedule.ts";
import { explainAttempt } from "./recovery.ts";
import type { AccountAction, AccountSnapshot } from "./snapshot.ts";
import type { CreationAttempt } from "./status.ts";

export const RECHECK_MS = 10 * MINUTE;

type RecordAccount = Extract<AccountAction, { kind: "RecordAccount" }>;

/**
 * The next read, or the account that the attempt created; Stalled if manual action is required. `undefined` if the
 * attempt created nothing.
 */
export function nextOfAttempt(
  attempt: CreationAttempt,
  snapshot: AccountSnapshot,
  now: Instant,
): AccountAction | Waiting | undefined {
  const { state, connection, listing, object } = snapshot;
  if (state.created?.attempt === attempt.id)
    return recordAccount(state.created.account, "Created", snapshot);
  // Until the stored time is corrected, it may be in the future.
  const waitMs = settleMs(connection) - Math.max(now - attempt.startTime, 0);
  if (waitMs > 0) return unanswered(snapshot, waitMs);
  if (listing === undefined) return { kind: "ListAccounts" };
  if (!listing.ok) return unlisted(snapshot, listing.code);
  // During deletion, an account that another object names is left to that object.
  const isDeleting = object.metadata.deletionTimestamp !== undefined;
  const isClaimed = (saId: string) => !isDeleting && isNamedByOther(saId, snapshot);
  const found = explainAttempt(listing.accounts, desiredAccount(snapshot), attempt, isClaimed);
  switch (found.kind) {
    case "Found":
      return recordAccount(found.account, "Recovered", snapshot);
    case "Unclear":
      return ambiguous(snapshot, found.saIds);
    case "Nothing":
      return undefined;
  }
}

/** Records an account that was created for this object. */
export function recordAccount(
  found: IamServiceAccount,
  because: "Created" | "Recovered",
  snapshot: AccountSnapshot,
): RecordAccount {
  const expected = expectedAccount(snapshot, "Created");
  // Without an attempt, the prefix of its default name may have changed since the account was created.
  const name = snapshot.attempt === undefined ? (found.name ?? expected.name) : expected.name;
  const account = fromConsole(found, { ...expected, name });
  return { kind: "RecordAccount", because, account };
}

function fateOf({ unreadableResponse }: AccountSnapshot): string {
  return unreadableResponse === undefined
    ? "The console did not answer the creation"
    : `The response to the creation cannot be read (${unreadableResponse.message})`;
}

function unanswered(snapshot: AccountSnapshot, afterMs: number): Waiting {
  return reconciling(
    "CreateOutcomeUnknown",
    `${fateOf(snapshot)}; whether it took effect is looked up shortly.`,
    afterMs,
  );
}

function unlisted(snapshot: AccountSnapshot, code: string): Waiting {
  return stalled(
    "CreateOutcomeUnknown",
    `${fateOf(snapshot)}, and its accounts cannot be listed (${code}), so it is unknown whether the account exists. Look for it in the console: its description names this object. Then create this object again, with spec.saId if the account exists.`,
    RECHECK_MS,
  );
}

function ambiguous(snapshot: AccountSnapshot, saIds: readonly string[]): Waiting {
  return stalled(
    "AmbiguousServiceAccount",
    `${fateOf(snapshot)}, and several accounts match (${nameAll(saIds)}). Create this object again, with spec.saId of the correct account.`,
    RECHECK_MS,
  );
}

/** Up to five IDs for a message. */
export function nameAll(saIds: readonly string[]): string {
  return truncateList(saIds, 5);
}
