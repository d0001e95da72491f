/** Moves a pair from process memory to the consumers. Pure. */

import { pendingSecretName } from "../../../api/secret-names.ts";
import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import type { Waiting } from "../../../reconciler/rules/outcome.ts";
import { secretNameOf } from "../secret/owner.ts";
import { type IssuedPair, isSamePair } from "../secret/pair.ts";
import type { SecretContents } from "../secret/render.ts";
import { attemptOf, pairIn } from "../secret/view.ts";
import type { Timing } from "../timing.ts";
import { accountOf, isOfSpec } from "./accounts.ts";
import { permissionsAreMissing, secretConflict, secretIsImmutable } from "./blocks.ts";
import { isListedInactive } from "./listed-keys.ts";
import { isOutdated } from "./needs.ts";
import { previousById } from "./rendering.ts";
import type { ApiKeySnapshot, Closing, LateKey } from "./snapshot.ts";
import { listedKeyIds, type OrphanedKey } from "./status.ts";
import { verdictOn } from "./verification.ts";

/** Whether the pending Secret proves something new: the memory need not hold its pair. */
export function isStagedPairNew({ pending, held, status }: ApiKeySnapshot): boolean {
  const pair = pairIn(pending);
  if (pair === undefined) return false;
  const isOfAttempt = status.attempt !== undefined && attemptOf(pending) === status.attempt.id;
  return isSamePair(held?.pair, pair) || isOfAttempt;
}

/** Whether a pair exists only in process memory. */
export function isUnstaged({ held, pending }: ApiKeySnapshot): boolean {
  return held !== undefined && !isSamePair(pairIn(pending), held.pair);
}

/** A pair in the Secret that the status does not name as the key in use. */
interface UnrecordedPair {
  readonly pair: IssuedPair;
  /** Whether the open attempt has issued it. */
  readonly isOfAttempt: boolean;
}

/** The Secret takes precedence over a status that was lost or is older. */
export function unrecordedPair(snapshot: ApiKeySnapshot): UnrecordedPair | undefined {
  const { status, target } = snapshot;
  const pair = pairIn(target);
  if (pair === undefined) return undefined;
  if (isOfOpenAttempt(pair, snapshot)) return { pair, isOfAttempt: true };
  if (isOutdated(pair, status) || pair.keyId === status.current?.keyId) return undefined;
  return { pair, isOfAttempt: status.attempt?.revision === pair.revision };
}

/**
 * Whether the pending Secret shows that the open attempt issued the delivered pair. The console may have issued a key
 * with the ID of an earlier key, so the ID alone proves nothing.
 */
function isOfOpenAttempt(
  delivered: IssuedPair,
  { status: { attempt }, pending }: ApiKeySnapshot,
): boolean {
  const isOfAttempt = attempt !== undefined && attemptOf(pending) === attempt.id;
  return isOfAttempt && isSamePair(pairIn(pending), delivered);
}

/** After the API server is restored from an older backup, the status lacks keys that were issued since. */
export function keysToListAfterRestore(
  snapshot: ApiKeySnapshot,
  { now }: ClockReading,
): readonly OrphanedKey[] {
  const { keysBeforeRestore } = snapshot;
  if (keysBeforeRestore.length === 0) return [];
  const known = knownKeyIds(snapshot);
  return keysBeforeRestore.filter(
    ({ keyId, expirationTime }) => !known.has(keyId) && now < expirationTime,
  );
}

/** Further late keys are left to the account's report: their descriptions can be forged. */
const MAX_ORPHANS_WITH_LATE = 500;

/** A closed attempt may still issue a key: its call may take effect late, or twice. */
export function lateKeysToList(snapshot: ApiKeySnapshot): readonly LateKey[] {
  const { lateKeys, status } = snapshot;
  if (lateKeys.length === 0) return [];
  const known = knownKeyIds(snapshot);
  return lateKeys
    .filter(({ keyId, attemptId }) => !known.has(keyId) && attemptId !== status.attempt?.id)
    .slice(0, Math.max(MAX_ORPHANS_WITH_LATE - status.orphaned.length, 0));
}

/** Keys that the status lists, or whose pairs are stored or in memory. */
function knownKeyIds({
  status,
  held,
  pending,
  target,
}: ApiKeySnapshot): ReadonlySet<string | undefined> {
  const pairs = [held?.pair, pairIn(pending), pairIn(target)].map((pair) => pair?.keyId);
  return new Set([...listedKeyIds(status), ...pairs]);
}

/** The staged pair that the target should get: it is newer, and neither delivered nor given up. */
export function pairToDeliver(snapshot: ApiKeySnapshot): IssuedPair | undefined {
  const pair = pairIn(snapshot.pending);
  return pair !== undefined && isNews(pair, snapshot) ? pair : undefined;
}

/** Why the pair cannot be delivered, or be closed as unwanted, now. */
export function obstacleToDelivery(
  pair: IssuedPair,
  snapshot: ApiKeySnapshot,
  at: ClockReading,
): Waiting | undefined {
  const account = isWanted(pair, snapshot) ? accountOf(pair, snapshot) : snapshot.account;
  if (account.kind === "Waiting") return account;
  if (!isWanted(pair, snapshot)) return undefined;
  return (
    secretConflict(snapshot) ??
    targetIsImmutable(pair, snapshot) ??
    (isOfSpec(pair, snapshot) ? permissionsAreMissing(snapshot, at) : undefined)
  );
}

function targetIsImmutable(pair: IssuedPair, snapshot: ApiKeySnapshot): Waiting | undefined {
  const immutable = secretIsImmutable(snapshot);
  return immutable && { ...immutable, message: describeStaged(pair, snapshot, immutable.message) };
}

/** Says where the pair waits, and why. */
export function describeStaged(
  { keyId }: IssuedPair,
  { self, spec }: ApiKeySnapshot,
  why: string,
): string {
  const name = pendingSecretName(secretNameOf(self.name, spec));
  return `Key ${keyId} is issued, and its pair waits in Secret ${name}: ${why}`;
}

/** Why a staged pair is not delivered yet. */
export function waitForDelivery(
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  timing: Timing,
): Waiting | undefined {
  const pair = pairToDeliver(snapshot);
  if (pair === undefined) return undefined;
  const obstacle = obstacleToDelivery(pair, snapshot, at);
  if (obstacle !== undefined) return obstacle;
  if (verdictOn(pair, snapshot) !== "Rejected") return undefined;
  const isLate = refusedFor(snapshot, pair.keyId, at) >= timing.verifyPatienceMs;
  return {
    kind: "Waiting",
    state: "Reconciling",
    reason: isLate ? "VerificationFailed" : "Verifying",
    message: `The console does not accept the new key ${pair.keyId} yet; it is kept and tried again.`,
    afterMs: isLate ? timing.verifySlowRetryMs : timing.verifyRetryMs,
  };
}

/**
 * Whether consumers may get the pair: it belongs to the account that the spec names, or to the account whose key they
 * have. A rotation that was under way when the spec changed ends as usual.
 */
export function isWanted(pair: IssuedPair, snapshot: ApiKeySnapshot): boolean {
  return isOfSpec(pair, snapshot) || pair.saId === snapshot.status.current?.saId;
}

/** The spec named the pair's account only for a while. Its key is ended like other superseded keys. */
export function closeUnwanted(unwanted: IssuedPair): Closing {
  const because = `spec.serviceAccountRef no longer names ServiceAccount ${unwanted.serviceAccount}, so no consumer gets key ${unwanted.keyId}`;
  return { orphans: [], refund: false, unwanted, because };
}

/**
 * What the Secret shows as previous once it holds the pair: the pair in it, or of a Secret that was lost the key ID alone.
 * A reissued key has one ID and two secrets, and the earlier secret is not a pair of its own.
 */
export function previousOf(
  pair: IssuedPair,
  snapshot: ApiKeySnapshot,
  { now }: ClockReading,
): SecretContents["previous"] {
  const { current } = snapshot.status;
  const delivered = pairIn(snapshot.target);
  const replaced = delivered ?? current;
  if (replaced === undefined || replaced.keyId === pair.keyId) return undefined;
  if (delivered !== undefined) return delivered;
  return now < replaced.expirationTime ? previousById(replaced.keyId, snapshot) : undefined;
}

function isNews(pair: IssuedPair, snapshot: ApiKeySnapshot): boolean {
  const { status, target } = snapshot;
  if (isDone(pair, snapshot)) return false;
  const delivered = pairIn(target);
  if (delivered === undefined) return true;
  if (isSamePair(delivered, pair)) return false;
  // The revision in the Secret can be edited, so the status takes precedence.
  const { revision } = delivered.keyId === status.current?.keyId ? status.current : delivered;
  return revision < pair.revision;
}

/** Whether the status lists this very pair, and not an earlier pair with the same key ID. */
function isDone(
  { keyId, issueTime, revision }: IssuedPair,
  { status: { current, superseded, orphaned }, pending }: ApiKeySnapshot,
): boolean {
  const attemptId = attemptOf(pending);
  return (
    (current?.keyId === keyId && current.revision >= revision) ||
    superseded.some((key) => key.keyId === keyId && key.issueTime >= issueTime) ||
    orphaned.some((key) => key.keyId === keyId && key.attemptId === attemptId)
  );
}

function refusedFor({ pendingRejection }: ApiKeySnapshot, keyId: string, at: ClockReading): number {
  return pendingRejection?.keyId === keyId ? at.monotonic - pendingRejection.since : 0;
}

/** Gives up a pair that the console rejects for too long. */
export function closeRejected(
  pair: IssuedPair,
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  timing: Timing,
): Closing | undefined {
  const { keyId, expirationTime, serviceAccount, saId } = pair;
  const { status, pending } = snapshot;
  // Without the list, a new key is not known to be inactive: the console may be slow to accept it.
  const isInactive = isListedInactive(accountOf(pair, snapshot), keyId);
  const patienceMs = isInactive ? timing.endedPatienceMs : timing.verifyGiveUpMs;
  if (refusedFor(snapshot, keyId, at) < patienceMs) return undefined;
  const attemptId = status.attempt?.id ?? attemptOf(pending) ?? "unknown";
  const found = { keyId, attemptId, observedTime: at.now, expirationTime, late: undefined };
  return {
    orphans: [{ ...found, serviceAccount, saId }],
    refund: false,
    because: isInactive
      ? `the console rejects key ${keyId} and lists it as inactive or expired`
      : `the console never accepted key ${keyId}`,
  };
}

/** The pair in a pending Secret that can be deleted, if no status lists its key. */
export function unlistedStagedPair({ pending, status }: ApiKeySnapshot): IssuedPair | undefined {
  const pair = pairIn(pending);
  return pair === undefined || listedKeyIds(status).includes(pair.keyId) ? undefined : pair;
}
