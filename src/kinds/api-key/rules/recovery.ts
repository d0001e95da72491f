/** Recovers an attempt whose pair was not found: finds out whether keys were issued, and lists them as lost. Pure. */

import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import type { Waiting } from "../../../reconciler/rules/outcome.ts";
import type { IssuedPair } from "../secret/pair.ts";
import { attemptOf, pairIn } from "../secret/view.ts";
import type { Timing } from "../timing.ts";
import { accountOf, isOfSpec } from "./accounts.ts";
import { expiryOf } from "./schedule.ts";
import type { ApiKeySnapshot, Closing, Explanation, ReadyAccount } from "./snapshot.ts";
import { type IssueAttempt, type KeyStatus, listedKeyIds, type OrphanedKey } from "./status.ts";

/** The call timeout that {@link Timing.recoverySettleMs} assumes. */
const DEFAULT_CALL_TIMEOUT_MS = 15_000;

/** The open attempt, if its pair is neither stored nor in memory. */
export function unexplainedAttempt(snapshot: ApiKeySnapshot): IssueAttempt | undefined {
  const { attempt } = snapshot.status;
  return attempt === undefined || pairOfAttempt(attempt, snapshot) !== undefined
    ? undefined
    : attempt;
}

/**
 * Whether the attempt's call is certainly over: from now on, lists of the account's keys show what it has issued. Until
 * then, a call that was given up may take effect.
 */
export function isToSettle(
  attempt: IssueAttempt,
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  timing: Timing,
): boolean {
  const account = accountOf(attempt, snapshot);
  if (attempt.settled || account.kind === "Waiting") return false;
  return passedMs(snapshot, at) >= settleMs(account, timing);
}

/**
 * Closes the attempt as the account's record explains it. An account that the spec no longer names may never be ready
 * again, and the workload needs a key: the wait for it is limited.
 */
export function closingOf(
  attempt: IssueAttempt,
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  timing: Timing,
): Closing | undefined {
  const { explanation } = snapshot;
  if (explanation !== undefined) return closeAsExplained(attempt, explanation, snapshot, at);
  return formerAccountMs(attempt, snapshot, at, timing) <= 0
    ? closeAsLost(attempt, snapshot, at)
    : undefined;
}

/** Milliseconds until a key is assumed to be lost; infinite if the spec names the account, or if it is ready. */
function formerAccountMs(
  attempt: IssueAttempt,
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  { formerAccountPatienceMs }: Timing,
): number {
  const isFormer = accountOf(attempt, snapshot).kind === "Waiting" && !isOfSpec(attempt, snapshot);
  return isFormer ? formerAccountPatienceMs - passedMs(snapshot, at) : Number.POSITIVE_INFINITY;
}

/** Since this process has found the attempt open without a pair. */
function passedMs({ recovery }: ApiKeySnapshot, { monotonic }: ClockReading): number {
  return monotonic - (recovery?.since ?? monotonic);
}

/** Why an open attempt is not explained yet. */
export function waitForRecovery(
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  timing: Timing,
): Waiting | undefined {
  const attempt = unexplainedAttempt(snapshot);
  if (attempt === undefined) return undefined;
  const account = accountOf(attempt, snapshot);
  if (account.kind === "Ready") {
    const leftMs = settleMs(account, timing) - passedMs(snapshot, at);
    return recovering(attempt, snapshot, leftMs > 0 ? leftMs : timing.explanationCheckMs);
  }
  const afterMs = formerAccountMs(attempt, snapshot, at, timing);
  return Number.isFinite(afterMs) ? { ...account, afterMs } : account;
}

/** Extends the wait by the part of the timeout that exceeds the default. */
function settleMs({ callTimeoutMs }: ReadyAccount, { recoverySettleMs }: Timing): number {
  return recoverySettleMs + Math.max(callTimeoutMs - DEFAULT_CALL_TIMEOUT_MS, 0);
}

function recovering({ id }: IssueAttempt, { status }: ApiKeySnapshot, afterMs: number): Waiting {
  const unread = unreadResponse(id, status);
  const why =
    unread === undefined
      ? `Attempt ${id} to issue a key was interrupted`
      : `The response to attempt ${id} to issue a key cannot be read (${unread.message})`;
  return {
    kind: "Waiting",
    state: "Reconciling",
    reason: "Recovering",
    message: `${why}; the account's keys show whether a key was issued.`,
    afterMs,
  };
}

function unreadResponse(id: string, { unreadableResponse }: KeyStatus) {
  return unreadableResponse?.attemptId === id ? unreadableResponse : undefined;
}

/** The pair that the attempt issued, wherever it is stored. */
function pairOfAttempt(
  { id, revision }: IssueAttempt,
  { status, held, pending, target }: ApiKeySnapshot,
): IssuedPair | undefined {
  if (held?.attemptId === id) return held.pair;
  if (attemptOf(pending) === id) return pairIn(pending);
  const delivered = pairIn(target);
  // The revision in the Secret can be edited: a key that the status lists was there before.
  if (delivered === undefined || listedKeyIds(status).includes(delivered.keyId)) return undefined;
  return delivered.revision === revision ? delivered : undefined;
}

function closeAsExplained(
  attempt: IssueAttempt,
  { keyIds, missingKeyId }: Explanation,
  { status, spec }: ApiKeySnapshot,
  at: ClockReading,
): Closing {
  const lost = (keyId: string | undefined) => lostKey(keyId, attempt, at, spec.expiresInDays);
  if (keyIds === undefined)
    return {
      orphans: [lost(undefined)],
      refund: false,
      because:
        missingKeyId === undefined
          ? "the console does not list keys, so a key is assumed to be lost"
          : `the console's list of keys lacks ${missingKeyId}, which is in use, so the list proves nothing: a key is assumed to be lost`,
    };
  if (keyIds.length === 0) return { orphans: [], refund: true, because: "no key was issued" };
  const listed = listedKeyIds(status);
  const fate =
    unreadResponse(attempt.id, status) === undefined
      ? "no Secret holds its pair: the answer was lost, or the Secret was deleted"
      : "the answer cannot be read";
  return {
    orphans: keyIds.filter((keyId) => !listed.includes(keyId)).map(lost),
    refund: false,
    because: `issued, but ${fate}: ${keyIds.join(", ")}`,
  };
}

/** Stops waiting for the attempt and assumes the worst: a key was issued and lost. */
export function closeAsLost(
  attempt: IssueAttempt,
  { spec }: ApiKeySnapshot,
  at: ClockReading,
): Closing {
  return {
    orphans: [lostKey(undefined, attempt, at, spec.expiresInDays)],
    refund: false,
    because:
      "the console's list did not show in time whether a key was issued, so a key is assumed to be lost",
  };
}

/** A lost key of the attempt, issued no later than now; a clock may have been set back since. */
function lostKey(
  keyId: string | undefined,
  { id, startTime, expiresInDays, serviceAccount, saId }: IssueAttempt,
  { now }: ClockReading,
  defaultDays: number,
): OrphanedKey {
  const expirationTime = expiryOf(Math.max(startTime, now), expiresInDays ?? defaultDays);
  const found = { keyId, attemptId: id, observedTime: now, expirationTime, late: undefined };
  return { ...found, serviceAccount, saId };
}
