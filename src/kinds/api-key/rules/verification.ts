/** When the pair in use is checked in the console, and for how long a rejected pair is kept. Pure. */
import { annotations } from "../../../api/meta.ts";
import type { PairEvidence } from "../../../console/evidence.ts";
import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import type { Waiting } from "../../../reconciler/rules/outcome.ts";
import { requestToken } from "../../../reconciler/rules/request.ts";
import { stableFraction } from "../../../reconciler/rules/stable-fraction.ts";
import { remainingMs } from "../../../util/agreed-time.ts";
import { type IssuedPair, isSamePair, pairHash } from "../secret/pair.ts";
import { pairIn } from "../secret/view.ts";
import type { Timing } from "../timing.ts";
import { accountInUse } from "./accounts.ts";
import { isListedInactive } from "./listed-keys.ts";
import { isDelivered } from "./rendering.ts";
import type { ApiKeySnapshot } from "./snapshot.ts";

/**
 * The pair in use, if it is to be checked: if it was never accepted, if a list lacks it or shows it as inactive, regularly
 * if no list shows its state, and on request. Once a run.
 */
export function pairToCheck(
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  timing: Timing,
): IssuedPair | undefined {
  const { failedCheck, status, target } = snapshot;
  if (status.current === undefined || failedCheck !== undefined) return undefined;
  if (verdictOnCurrent(snapshot) !== undefined) return undefined;
  return isCheckDue(snapshot, at, timing) ? pairIn(target) : undefined;
}

/** Why the key in use may not work. */
export function waitForKeyInUse(
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  timing: Timing,
): Waiting | undefined {
  const { status, rejection } = snapshot;
  const { current } = status;
  if (current === undefined || isAccepted(verdictOnCurrent(snapshot))) return undefined;
  const isRejected = rejection?.keyId === current.keyId;
  if (!isRejected && current.verificationTime !== undefined) return undefined;
  const account = accountInUse(snapshot);
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

/** What a check in this run has shown about the key in use. */
export function verdictOnCurrent({ status, verdicts }: ApiKeySnapshot): PairEvidence | undefined {
  return status.current && verdicts?.get(status.current.keyId);
}

export function isAccepted(verdict: PairEvidence | undefined): boolean {
  return verdict !== undefined && verdict !== "Rejected";
}

/** What a check in this run has shown about the pair. */
export function verdictOn(pair: IssuedPair, snapshot: ApiKeySnapshot): PairEvidence | undefined {
  return snapshot.verdicts?.get(verdictKey(pair, snapshot));
}

/**
 * By what a run remembers its verdict on a pair: the key ID, or a hash if the console has issued the key in use again, so
 * that two pairs have one ID.
 */
export function verdictKey(
  pair: IssuedPair,
  { status: { current }, target }: Pick<ApiKeySnapshot, "status" | "target">,
): string {
  const isReissue = pair.keyId === current?.keyId && !isSamePair(pair, pairIn(target));
  return isReissue ? pairHash(pair) : pair.keyId;
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
  if (!canCheck(snapshot)) return undefined;
  const pauseMs = checkPauseMs(snapshot, at, timing);
  if (pauseMs === undefined) return regularCheckMs(snapshot, at, timing);
  const { lastCheckTime } = snapshot;
  if (lastCheckTime === undefined) return 0;
  return remainingMs(lastCheckTime, pauseMs, at.now);
}

/** Milliseconds between two checks of the pair in use; `undefined` if only regular checks are needed. */
function checkPauseMs(
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  timing: Timing,
): number | undefined {
  const { status, rejection, lastCheckTime = 0 } = snapshot;
  const { current } = status;
  if (current === undefined) return undefined;
  if (rejection?.keyId === current.keyId) {
    const isLate = at.monotonic - rejection.since >= timing.verifyPatienceMs;
    return isLate ? timing.verifySlowRetryMs : timing.verifyRetryMs;
  }
  if (current.verificationTime === undefined) return timing.verifyRetryMs;
  if (!isNotLive(snapshot)) return undefined;
  const sinceListMs = lastCheckTime - (accountInUse(snapshot).lastKeyListTime ?? 0);
  if (sinceListMs < 0) return 0;
  // The list and the pair contradict each other, and one of them is late: the longer this lasts, the rarer the checks.
  return Math.min(Math.max(sinceListMs, timing.keyCheckMs), timing.longestKeyCheckMs);
}

/** Whether no list shows that the key in use is active, so that only a try can show that it still works. */
export function isCheckedRegularly(snapshot: ApiKeySnapshot): boolean {
  const account = accountInUse(snapshot);
  return (
    account.kind === "Ready" && !account.listsKeyStates && snapshot.status.current !== undefined
  );
}

/**
 * Milliseconds until the next regular check; `undefined` if a list shows that the key is active. Checks are spread, and
 * a start of the process makes none at once.
 */
function regularCheckMs(
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  timing: Timing,
): number | undefined {
  if (!isCheckedRegularly(snapshot)) return undefined;
  const { self, regularCheckFrom } = snapshot;
  const pauseMs = timing.regularCheckMs * (0.5 + stableFraction(self.uid) / 2);
  return Math.max((regularCheckFrom ?? at.monotonic) + pauseMs - at.monotonic, 0);
}

/** Milliseconds until a rejected key in use is replaced, negative if overdue; `undefined` if it is not rejected. */
export function replacedInMs(
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  timing: Timing,
): number | undefined {
  const { status, rejection } = snapshot;
  if (rejection === undefined || rejection.keyId !== status.current?.keyId) return undefined;
  const patienceMs = isNotLive(snapshot) ? timing.endedPatienceMs : timing.verifyPatienceMs;
  return rejection.since + patienceMs - at.monotonic;
}

/**
 * Whether the console's list of the account's keys is newer than the acceptance of the key, and lacks the key or shows
 * it as inactive.
 */
function isNotLive(snapshot: ApiKeySnapshot): boolean {
  const { current } = snapshot.status;
  const { liveKeyIds, lastKeyListTime = 0 } = accountInUse(snapshot);
  return (
    current?.verificationTime !== undefined &&
    lastKeyListTime > current.verificationTime &&
    liveKeyIds?.includes(current.keyId) === false
  );
}

function canCheck(snapshot: ApiKeySnapshot): boolean {
  const { kind } = accountInUse(snapshot);
  return kind === "Ready" && isDelivered(snapshot);
}

export function isCheckRequested({ object: { metadata, status } }: ApiKeySnapshot): boolean {
  const requested = requestToken(metadata, annotations.reconcileRequestedAt);
  return requested !== undefined && requested !== status?.lastHandledReconcileAt;
}

/** How the console has shown that the key in use does not work: always by rejecting it, and maybe in its list. */
export type ShownEnd = "Unlisted" | "Inactive" | "Rejected";

/** Whether the console has rejected the key in use since it last accepted it. */
export function isRejected({
  rejection,
  status,
}: Pick<ApiKeySnapshot, "rejection" | "status">): boolean {
  return rejection !== undefined && rejection.keyId === status.current?.keyId;
}

/** `undefined` if the key in use is not rejected. */
export function shownEnd(snapshot: ApiKeySnapshot): ShownEnd | undefined {
  const { keyId } = snapshot.status.current ?? {};
  if (keyId === undefined || !isRejected(snapshot)) return undefined;
  if (isListedInactive(accountInUse(snapshot), keyId)) return "Inactive";
  return isNotLive(snapshot) ? "Unlisted" : "Rejected";
}

const REFUSALS: Readonly<Record<ShownEnd, readonly [string, string]>> = {
  Inactive: [
    " and lists it as inactive or expired: it was disabled or expired outside the operator",
    "a minute",
  ],
  Unlisted: [" and no longer lists it: it was deleted outside the operator", "a minute"],
  Rejected: [", which it accepted before", "three minutes"],
};

function refusal(snapshot: ApiKeySnapshot, keyId: string): string {
  const [finding, within] = REFUSALS[shownEnd(snapshot) ?? "Rejected"];
  return `The console rejects key ${keyId}${finding}. Unless the console accepts it again, it is replaced within ${within} if IssuanceAllowed is True.`;
}
