/** Status changes after events of keys. Pure. */
import { DAY, type Instant } from "../../../util/time.ts";
import type { IssuedPair } from "../secret/pair.ts";
import { isRequested } from "./needs.ts";
import type { LateKey } from "./snapshot.ts";
import {
  type IssueAttempt,
  type KeyStatus,
  listedKeyIds,
  type OrphanedKey,
  type SupersededKey,
} from "./status.ts";

/** Records an attempt before its call, and marks the rotation request with that token as handled, if there is one. */
export function withAttempt(
  status: KeyStatus,
  attempt: IssueAttempt,
  rotateToken: string | undefined,
): KeyStatus {
  return {
    ...status,
    attempt,
    issuances: spend(status.issuances, attempt.startTime),
    lastHandledRotateAt: rotateToken ?? status.lastHandledRotateAt,
  };
}

function spend(issuances: KeyStatus["issuances"], now: Instant): KeyStatus["issuances"] {
  return issuances === undefined || now >= issuances.windowStartTime + DAY
    ? { windowStartTime: now, count: 1 }
    : { ...issuances, count: issuances.count + 1 };
}

/**
 * Closes an attempt that delivered no pair, and lists the keys it may have issued. A refund returns the attempt to the
 * budget.
 */
export function withoutAttempt(
  status: KeyStatus,
  refund: boolean,
  orphans: readonly OrphanedKey[] = [],
): KeyStatus {
  const { issuances } = status;
  return {
    ...status,
    ...closed(status),
    issuances:
      refund && issuances !== undefined
        ? { ...issuances, count: Math.max(issuances.count - 1, 0) }
        : issuances,
    rotationPending: status.rotationPending || isRequested(status.attempt?.reason),
    orphaned: [...status.orphaned, ...orphans],
  };
}

function closed({ attempt, lastAttemptId }: KeyStatus): Partial<KeyStatus> {
  return { attempt: undefined, lastAttemptId: attempt?.id ?? lastAttemptId };
}

/**
 * Lists keys that appeared after their attempts were closed. If the attempt was closed with an unknown key, the new key
 * takes its place. For other keys, the expiry is an estimate.
 */
export function withLateKeys(
  status: KeyStatus,
  keys: readonly LateKey[],
  expiresInDays: number,
  now: Instant,
): KeyStatus {
  const orphaned = [...status.orphaned];
  for (const { keyId, attemptId } of keys) {
    const index = orphaned.findIndex(
      (key) => key.keyId === undefined && key.attemptId === attemptId,
    );
    const unknown = orphaned[index];
    const expirationTime = now + expiresInDays * DAY;
    if (unknown !== undefined) orphaned[index] = { ...unknown, keyId };
    else orphaned.push({ keyId, attemptId, observedTime: now, expirationTime, late: true });
  }
  return { ...status, orphaned };
}

/**
 * Records that the Secret holds the pair. A key that this run has not checked must be checked before it counts as
 * verified.
 */
export function withDeliveredKey(
  status: KeyStatus,
  pair: IssuedPair,
  isProven: boolean,
  now: Instant,
): KeyStatus {
  const verificationTime = isProven ? now : undefined;
  return {
    ...status,
    current: { ...lifeOf(pair), revision: pair.revision, verificationTime },
    ...closed(status),
    rotationPending: false,
    superseded: supersededBy(pair, status, now),
  };
}

/** Records a pair found in the Secret. If the status was lost, the record of handled requests was lost with it. */
export function withFoundKey(
  status: KeyStatus,
  pair: IssuedPair,
  rotateToken: string | undefined,
  now: Instant,
): KeyStatus {
  return {
    ...status,
    current: { ...lifeOf(pair), revision: pair.revision, verificationTime: undefined },
    superseded: supersededBy(pair, status, now),
    orphaned: status.orphaned.filter(({ keyId }) => keyId !== pair.keyId),
    // An old request must not issue again.
    lastHandledRotateAt: status.current === undefined ? rotateToken : status.lastHandledRotateAt,
  };
}

/** Records that the console has accepted the key; only the first time counts. */
export function withAcceptedKey(status: KeyStatus, keyId: string, now: Instant): KeyStatus {
  const { current } = status;
  if (current?.keyId !== keyId || current.verificationTime !== undefined) return status;
  return { ...status, current: { ...current, verificationTime: now } };
}

/** Lists a pair that no consumer gets, so that it is revoked or expires like other superseded keys. */
export function withUnlistedKey(status: KeyStatus, pair: IssuedPair, now: Instant): KeyStatus {
  return listedKeyIds(status).includes(pair.keyId)
    ? status
    : { ...status, superseded: [...status.superseded, superseded(pair, "Live", now)] };
}

/**
 * Records that the console has revoked the key: a superseded key, or the current key of an object that is being
 * deleted.
 */
export function withEndedKey(
  status: KeyStatus,
  keyId: string,
  state: SupersededKey["state"],
  now: Instant,
): KeyStatus {
  const { current } = status;
  const isListed = status.superseded.some((key) => key.keyId === keyId);
  if (!isListed && current?.keyId === keyId)
    return { ...status, superseded: [...status.superseded, superseded(current, state, now)] };
  return {
    ...status,
    superseded: status.superseded.map((key) => (key.keyId === keyId ? { ...key, state } : key)),
  };
}

function supersededBy(
  pair: IssuedPair,
  { current, superseded: before }: KeyStatus,
  now: Instant,
): KeyStatus["superseded"] {
  const others = before.filter(({ keyId }) => keyId !== pair.keyId);
  return current === undefined || current.keyId === pair.keyId
    ? others
    : [...others, superseded(current, "Live", now)];
}

type KeyLife = Pick<SupersededKey, "keyId" | "issueTime" | "expirationTime">;

function superseded(
  key: KeyLife,
  state: SupersededKey["state"],
  supersededTime: Instant,
): SupersededKey {
  return { ...lifeOf(key), supersededTime, state };
}

function lifeOf({ keyId, issueTime, expirationTime }: KeyLife): KeyLife {
  return { keyId, issueTime, expirationTime };
}
