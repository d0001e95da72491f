/** Status changes after events of keys. Pure. */
import { MAX_EARLIER_REQUESTS, MAX_RECENT_ISSUES } from "../../../api/api-key.ts";
import { isHandledRotation } from "../../../api/handled-rotations.ts";
import { DAY, type Instant } from "../../../util/time.ts";
import type { IssuedPair, KeyAccount } from "../secret/pair.ts";
import { isRequested, ROTATION_REQUESTED } from "./needs.ts";
import type { LateKey } from "./snapshot.ts";
import {
  type IssueAttempt,
  type KeyStatus,
  listedKeyIds,
  type OrphanedKey,
  type SupersededKey,
} from "./status.ts";

/**
 * Records an attempt before its call, and marks the rotation request with that token as handled, if there is one. An
 * earlier issue is forgotten only if a day has certainly passed: `certain` may be earlier than the attempt.
 */
export function withAttempt(
  status: KeyStatus,
  attempt: IssueAttempt,
  rotateToken: string | undefined,
  certain: Instant = attempt.startTime,
): KeyStatus {
  return {
    ...status,
    attempt,
    unreadableResponse: undefined,
    recentIssues: withIssue(status.recentIssues, attempt, certain),
    ...withHandled(status, rotateToken),
  };
}

function withIssue(
  recent: KeyStatus["recentIssues"],
  { startTime: time, reason }: IssueAttempt,
  certain: Instant,
): KeyStatus["recentIssues"] {
  const requested = reason === ROTATION_REQUESTED ? true : undefined;
  const counted = recent.filter((issue) => certain < issue.time + DAY);
  return [{ time, requested }, ...counted].slice(0, MAX_RECENT_ISSUES);
}

function withHandled(
  status: KeyStatus,
  token: string | undefined,
): Pick<KeyStatus, "lastHandledRotateAt" | "earlierRotateRequests"> {
  const { lastHandledRotateAt: last, earlierRotateRequests: earlier } = status;
  if (token === undefined || isHandledRotation(status, token))
    return { lastHandledRotateAt: last, earlierRotateRequests: earlier };
  return {
    lastHandledRotateAt: token,
    earlierRotateRequests: [...(last === undefined ? [] : [last]), ...earlier].slice(
      0,
      MAX_EARLIER_REQUESTS,
    ),
  };
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
  const { attempt, recentIssues } = status;
  return {
    ...status,
    ...closed(status),
    recentIssues: refund ? withoutIssue(recentIssues, attempt) : recentIssues,
    rotationPending: status.rotationPending || isRequested(attempt?.reason),
    orphaned: [...status.orphaned, ...orphans],
  };
}

function withoutIssue(
  recent: KeyStatus["recentIssues"],
  attempt: IssueAttempt | undefined,
): KeyStatus["recentIssues"] {
  const index = recent.findIndex(({ time }) => time === attempt?.startTime);
  return index < 0 ? recent : recent.toSpliced(index, 1);
}

/** A response that could not be read stays on record until the next attempt. */
function closed({ attempt, lastAttemptId, unreadableResponse }: KeyStatus): Partial<KeyStatus> {
  const isItsResponse = attempt === undefined || unreadableResponse?.attemptId === attempt.id;
  return {
    attempt: undefined,
    lastAttemptId: attempt?.id ?? lastAttemptId,
    unreadableResponse: isItsResponse ? unreadableResponse : undefined,
  };
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
  for (const { keyId, attemptId, serviceAccount, saId } of keys) {
    const index = orphaned.findIndex(
      (key) => key.keyId === undefined && key.attemptId === attemptId,
    );
    const unknown = orphaned[index];
    const expirationTime = now + expiresInDays * DAY;
    if (unknown !== undefined) orphaned[index] = { ...unknown, keyId };
    else
      orphaned.push({
        keyId,
        attemptId,
        observedTime: now,
        expirationTime,
        late: true,
        serviceAccount,
        saId,
      });
  }
  return { ...status, orphaned };
}

/**
 * Records that the Secret holds the pair. A key that this run has not checked must be checked before it counts as
 * verified. `former` is the state of the key in use so far.
 */
export function withDeliveredKey(
  status: KeyStatus,
  pair: IssuedPair,
  isProven: boolean,
  now: Instant,
  former?: SupersededKey["state"],
): KeyStatus {
  const verificationTime = isProven ? now : undefined;
  return {
    ...status,
    current: { ...lifeOf(pair), revision: pair.revision, verificationTime },
    ...closed(status),
    rotationPending: false,
    superseded: supersededBy(pair, status, now, former),
    orphaned: status.orphaned.filter(({ keyId }) => keyId !== pair.keyId),
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
  return listedKeyIds(status).includes(pair.keyId) ? status : withUnlisted(status, pair, now);
}

function withUnlisted(status: KeyStatus, key: KeyLife, now: Instant): KeyStatus {
  return { ...status, superseded: [...status.superseded, superseded(key, now)] };
}

/** What is known about a key after a call to end it. */
export interface KeyEnd {
  readonly state: "Disabled" | "Deleted" | "Unknown";
  readonly answeredCall?: SupersededKey["answeredCall"];
}

/** Records a call to end a key: a superseded key, or the current key of an object that is being deleted. */
export function withEndedKey(
  status: KeyStatus,
  keyId: string,
  end: KeyEnd,
  now: Instant,
): KeyStatus {
  const { current } = status;
  const isListed = status.superseded.some((key) => key.keyId === keyId);
  if (!isListed && current?.keyId === keyId)
    return withEndedKey(withUnlisted(status, current, now), keyId, end, now);
  return {
    ...status,
    superseded: status.superseded.map((key) =>
      key.keyId === keyId ? { ...key, ...end, stateTime: now } : key,
    ),
  };
}

function supersededBy(
  pair: IssuedPair,
  { current, superseded: before }: KeyStatus,
  now: Instant,
  state?: SupersededKey["state"],
): KeyStatus["superseded"] {
  const others = before.filter(({ keyId }) => keyId !== pair.keyId);
  return current === undefined || current.keyId === pair.keyId
    ? others
    : [...others, superseded(current, now, state)];
}

type KeyLife = Pick<SupersededKey, "keyId" | "issueTime" | "expirationTime"> & KeyAccount;

function superseded(
  key: KeyLife,
  supersededTime: Instant,
  state: SupersededKey["state"] = "Live",
): SupersededKey {
  return { ...lifeOf(key), supersededTime, state, answeredCall: undefined, stateTime: undefined };
}

function lifeOf({ keyId, issueTime, expirationTime, serviceAccount, saId }: KeyLife) {
  return { keyId, issueTime, expirationTime, serviceAccount, saId };
}
