/** When the pair in use is checked in the console, and for how long a rejected pair is kept. Pure. */
import { annotations } from "../../../api/meta.ts";
import type { ClockReading } from "../../frame/clock-reading.ts";
import { requestToken } from "../../frame/rules/request.ts";
import { pairIn } from "../secret/view.ts";
import type { Timing } from "../timing.ts";
import { isDelivered } from "./rendering.ts";
import type { ApiKeyProgress, ApiKeySnapshot, ApiKeyStep } from "./snapshot.ts";

/** Checks the key in the Secret if it was never accepted, if a list lacks it, and on request. */
export function verifyCurrent(
  { snapshot, done }: ApiKeyProgress,
  at: ClockReading,
  timing: Timing,
): ApiKeyStep | undefined {
  const { account, target, status, rejection } = snapshot;
  const { current } = status;
  const verdict = current && done.verdicts?.get(current.keyId);
  if (current === undefined || verdict === true) return undefined;
  const pair = pairIn(target);
  if (verdict === undefined && pair !== undefined && isCheckDue(snapshot, at, timing))
    return { kind: "VerifyPair", pair };
  const isRejected = rejection?.keyId === current.keyId;
  if (!isRejected && current.verificationTime !== undefined) return undefined;
  if (account.kind === "Waiting" && isDelivered(snapshot)) return account;
  const dueMs = nextCheckMs(snapshot, at, timing);
  if (dueMs === undefined) return undefined;
  return {
    kind: "Waiting",
    state: "Reconciling",
    ...(current.verificationTime === undefined
      ? { reason: "Verifying", message: `The console does not accept key ${current.keyId} yet.` }
      : { reason: "KeyRefused", message: refusal(snapshot, current.keyId) }),
    afterMs: dueMs,
  };
}

/** Whether a check is due; a requested check is due at once. */
export function isCheckDue(snapshot: ApiKeySnapshot, at: ClockReading, timing: Timing): boolean {
  const dueMs = nextCheckMs(snapshot, at, timing);
  return dueMs === 0 || (isCheckRequested(snapshot) && canCheck(snapshot));
}

/** Milliseconds until the next check of the pair in use; `undefined` if no check is needed or possible. */
export function nextCheckMs(
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  timing: Timing,
): number | undefined {
  const pauseMs = checkPauseMs(snapshot, at, timing);
  if (pauseMs === undefined || !canCheck(snapshot)) return undefined;
  const { lastCheckTime } = snapshot;
  if (lastCheckTime === undefined) return 0;
  // The clock may have been set back.
  return Math.min(Math.max(lastCheckTime + pauseMs - at.now, 0), pauseMs);
}

/** Milliseconds between two checks of the pair in use; `undefined` if no check is needed. */
function checkPauseMs(
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  timing: Timing,
): number | undefined {
  const { status, rejection, account, lastCheckTime = 0 } = snapshot;
  const { current } = status;
  if (current === undefined) return undefined;
  if (rejection?.keyId === current.keyId) {
    const isLate = at.monotonic - rejection.since >= timing.verifyPatienceMs;
    return isLate ? timing.verifySlowRetryMs : timing.verifyRetryMs;
  }
  if (current.verificationTime === undefined) return timing.verifyRetryMs;
  if (!isUnlisted(snapshot) || account.kind !== "Ready") return undefined;
  const sinceListMs = lastCheckTime - (account.lastKeyListTime ?? 0);
  if (sinceListMs < 0) return 0;
  // The list and the pair contradict each other, and one of them is late: the longer this lasts, the rarer the checks.
  return Math.min(Math.max(sinceListMs, timing.keyCheckMs), timing.longestKeyCheckMs);
}

/** Milliseconds until a rejected key in use is replaced, negative if overdue; `undefined` if it is not rejected. */
export function replacedInMs(
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  timing: Timing,
): number | undefined {
  const { status, rejection } = snapshot;
  if (rejection === undefined || rejection.keyId !== status.current?.keyId) return undefined;
  const patienceMs = isUnlisted(snapshot) ? timing.endedPatienceMs : timing.verifyPatienceMs;
  return rejection.since + patienceMs - at.monotonic;
}

/** Whether the console's list of the account's keys is newer than the acceptance of the key and lacks the key. */
function isUnlisted({ account, status: { current } }: ApiKeySnapshot): boolean {
  if (account.kind !== "Ready" || current?.verificationTime === undefined) return false;
  const { liveKeyIds, lastKeyListTime = 0 } = account;
  return (
    lastKeyListTime > current.verificationTime && liveKeyIds?.includes(current.keyId) === false
  );
}

function canCheck(snapshot: ApiKeySnapshot): boolean {
  return snapshot.account.kind === "Ready" && isDelivered(snapshot);
}

function isCheckRequested({ object: { metadata, status } }: ApiKeySnapshot): boolean {
  const requested = requestToken(metadata, annotations.reconcileRequestedAt);
  return requested !== undefined && requested !== status?.lastHandledReconcileAt;
}

function refusal(snapshot: ApiKeySnapshot, keyId: string): string {
  return isUnlisted(snapshot)
    ? `The console rejects key ${keyId} and no longer lists it: it was deleted outside the operator. Unless the console accepts it again, a new key is issued within a minute.`
    : `The console rejects key ${keyId}, which it accepted before. Unless the console accepts it again, a new key is issued within three minutes.`;
}
