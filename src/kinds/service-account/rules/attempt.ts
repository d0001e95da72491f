/** Resolves a creation with an unknown outcome. Pure. */

import type { IamServiceAccount } from "../../../console/model.ts";
import type { Waiting } from "../../../reconciler/rules/outcome.ts";
import { reconciling, stalled } from "../../../reconciler/rules/waiting.ts";
import { isBeingDeleted } from "../../../util/object-meta.ts";
import { type Instant, MINUTE } from "../../../util/time.ts";
import { truncateList } from "../../../util/truncate-list.ts";
import { fromConsole } from "./account.ts";
import { desiredAccount, expectedAccount } from "./desired-account.ts";
import { isNamedByOther } from "./owner.ts";
import { settleMs } from "./read-schedule.ts";
import { explainAttempt } from "./recovery.ts";
import type {
  AccountOrigin,
  AccountSnapshot,
  KnownAccount,
  Listed,
  WithAccount,
  WithAttempt,
} from "./snapshot.ts";

export const RECHECK_MS = 10 * MINUTE;

/** The object's account, which its status does not name. */
export interface FoundAccount {
  readonly kind: "Found";
  readonly account: KnownAccount;
  readonly because: AccountOrigin;
}

/** What is known without a list: the account, or how long the call may still take effect. */
export function outcomeBeforeList(
  snapshot: WithAttempt,
  now: Instant,
): FoundAccount | Waiting | undefined {
  const { attempt, state, connection } = snapshot;
  if (state.created?.attempt === attempt.id)
    return ownAccount(state.created.account, "Created", snapshot);
  // Until the stored time is corrected, it may be in the future.
  const waitMs = settleMs(connection) - Math.max(now - attempt.startTime, 0);
  return waitMs > 0 ? unanswered(snapshot, waitMs) : undefined;
}

/**
 * The account that the attempt created; Stalled if manual action is required. `undefined` if the attempt created
 * nothing.
 */
export function outcomeOf(
  snapshot: WithAttempt & Listed,
  now: Instant,
): FoundAccount | Waiting | undefined {
  // With the list, the run may have learned another time.
  const before = outcomeBeforeList(snapshot, now);
  if (before !== undefined) return before;
  const { attempt, listing, object } = snapshot;
  if (!listing.ok) return unlisted(snapshot, listing.code);
  // During deletion, an account that another object names is left to that object.
  const isClaimed = (saId: string) => !isBeingDeleted(object) && isNamedByOther(saId, snapshot);
  const found = explainAttempt(listing.accounts, desiredAccount(snapshot), attempt, isClaimed);
  switch (found.kind) {
    case "Found":
      return ownAccount(found.account, "Recovered", snapshot);
    case "Unclear":
      return ambiguous(snapshot, found.saIds);
    case "Nothing":
      return undefined;
  }
}

/** An account that was created for this object. */
export function ownAccount(
  found: IamServiceAccount,
  because: "Created" | "Recovered",
  snapshot: AccountSnapshot,
): FoundAccount {
  const expected = expectedAccount(snapshot, "Created");
  // Without an attempt, the prefix of its default name may have changed since the account was created.
  const name = snapshot.attempt === undefined ? (found.name ?? expected.name) : expected.name;
  const account = fromConsole(found, { ...expected, name });
  return { kind: "Found", because, account };
}

/** The account is known: no attempt is open. */
export function withAccount<S extends AccountSnapshot>(
  snapshot: S,
  { account, because }: FoundAccount,
  now: Instant,
): S & WithAccount {
  const recoveryTime = because === "Recovered" ? now : snapshot.recoveryTime;
  return { ...snapshot, account, attempt: undefined, became: because, recoveryTime };
}

/** The attempt has created nothing. A late call may still create an account. */
export function withoutAttempt(snapshot: AccountSnapshot, now: Instant): AccountSnapshot {
  return { ...snapshot, attempt: undefined, recoveryTime: now };
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
