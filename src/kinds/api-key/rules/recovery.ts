/** Recovers an attempt whose pair was not found: finds out whether keys were issued, and lists them as lost. Pure. */

import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import type { Waiting } from "../../../reconciler/rules/outcome.ts";
import { certainTime } from "../../../util/agreed-time.ts";
import type { Instant } from "../../../util/time.ts";
import type { IssuedPair } from "../secret/pair.ts";
import { attemptOf, pairIn } from "../secret/view.ts";
import type { Timing } from "../timing.ts";
import { accountOf, isOfSpec } from "./accounts.ts";
import { expiryOf } from "./schedule.ts";
import type { ApiKeySnapshot, Closing, ReadyAccount, SecondRead } from "./snapshot.ts";
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
 * Milliseconds until the next step of the recovery: until the account's keys are read, or until a key is assumed to be
 * lost. An account that the spec no longer names may never be ready again, and the workload needs a key: the wait for it
 * is limited.
 */
export function recoveryDueMs(
  attempt: IssueAttempt,
  snapshot: ApiKeySnapshot,
  { monotonic }: ClockReading,
  timing: Timing,
): number {
  const { since = monotonic, firstRead } = snapshot.recovery ?? {};
  const account = accountOf(attempt, snapshot);
  if (account.kind === "Waiting")
    return isOfSpec(attempt, snapshot)
      ? Number.POSITIVE_INFINITY
      : since + timing.formerAccountPatienceMs - monotonic;
  return firstRead === undefined
    ? since + settleMs(account, timing) - monotonic
    : firstRead.at + timing.recoveryGapMs - monotonic;
}

/** Why an open attempt is not explained yet. A read that was due has proven nothing, and is repeated. */
export function waitForRecovery(
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  timing: Timing,
): Waiting | undefined {
  const attempt = unexplainedAttempt(snapshot);
  if (attempt === undefined) return undefined;
  const dueMs = recoveryDueMs(attempt, snapshot, at, timing);
  const afterMs = dueMs > 0 ? dueMs : timing.recoveryGapMs;
  const account = accountOf(attempt, snapshot);
  if (account.kind === "Ready") return recovering(attempt, snapshot, afterMs);
  return isOfSpec(attempt, snapshot) ? account : { ...account, afterMs };
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
  { status, held, staging, target }: ApiKeySnapshot,
): IssuedPair | undefined {
  if (held?.attemptId === id) return held.pair;
  if (attemptOf(staging) === id) return pairIn(staging);
  const delivered = pairIn(target);
  // The revision in the Secret can be edited: a key that the status lists was there before.
  if (delivered === undefined || listedKeyIds(status).includes(delivered.keyId)) return undefined;
  return delivered.revision === revision ? delivered : undefined;
}

/** What two lists of the account's keys show: which keys the attempt has issued. */
export function closeByLists(
  attempt: IssueAttempt,
  { keyIds, peers }: SecondRead,
  snapshot: ApiKeySnapshot,
  at: ClockReading,
): Closing {
  const { status, spec, recovery } = snapshot;
  const listed = union(recovery?.firstRead?.keyIds, keyIds);
  const lost = (keyId: string | undefined) =>
    lostKey(keyId, attempt, Math.max(attempt.startTime, at.now), at, spec.expiresInDays);
  const close = (orphans: readonly OrphanedKey[], because: string) =>
    ({ orphans, refund: orphans.length === 0, because }) as const;
  if (attempt.knownKeyIds === undefined || listed === undefined)
    return close(
      [lost(undefined)],
      "the console does not list keys, so a key is assumed to be lost",
    );
  const known = new Set([...attempt.knownKeyIds, ...peers.known, ...listedKeyIds(status)]);
  const found = [...listed].filter((keyId) => !known.has(keyId));
  const isUnread = unreadResponse(attempt.id, status) !== undefined;
  const fate = isUnread ? "the answer cannot be read" : "the answer was lost";
  if (found.length > 0) return close(found.map(lost), `issued, but ${fate}: ${found.join(", ")}`);
  const unlisted = [...keyInUse(snapshot, certainTime(at)), ...peers.inUse].find(
    (keyId) => !listed.has(keyId),
  );
  if (unlisted === undefined && peers.surplus > 0)
    return { ...close([], "another ApiKey of the account lists its key"), refund: false };
  if (unlisted === undefined) return close([], "no key was issued");
  return close(
    [lost(undefined)],
    `the console's list of keys lacks ${unlisted}, which is in use, so the list proves nothing: a key is assumed to be lost`,
  );
}

/** Stops waiting for the attempt and assumes the worst: a key was issued and lost. */
export function closeAsLost(
  attempt: IssueAttempt,
  { spec }: ApiKeySnapshot,
  at: ClockReading,
): Closing {
  return {
    orphans: [lostKey(undefined, attempt, at.now, at, spec.expiresInDays)],
    refund: false,
    because:
      "the console's list did not show in time whether a key was issued, so a key is assumed to be lost",
  };
}

/** A lost key of the attempt, issued no later than `latest`. */
function lostKey(
  keyId: string | undefined,
  { id, expiresInDays, serviceAccount, saId }: IssueAttempt,
  latest: Instant,
  { now }: ClockReading,
  defaultDays: number,
): OrphanedKey {
  const expirationTime = expiryOf(latest, expiresInDays ?? defaultDays);
  const found = { keyId, attemptId: id, observedTime: now, expirationTime, late: undefined };
  return { ...found, serviceAccount, saId };
}

function union(
  ...lists: readonly (readonly string[] | undefined)[]
): ReadonlySet<string> | undefined {
  const known = lists.filter((list) => list !== undefined);
  return known.length === 0 ? undefined : new Set(known.flat());
}

/** The key in use, if a complete list of the attempt's account must contain it: the console has accepted it and has not rejected it since. */
function keyInUse(
  { status: { current, attempt }, rejection }: ApiKeySnapshot,
  now: Instant,
): readonly string[] {
  const isOurs =
    current?.verificationTime !== undefined &&
    current.saId === attempt?.saId &&
    now < current.expirationTime &&
    rejection?.keyId !== current.keyId;
  return isOurs ? [current.keyId] : [];
}
