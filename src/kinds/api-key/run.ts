/** The life of a key, from top to bottom. Pure but for the time: it yields its effects. */

import type { ReadNow } from "../../reconciler/clock-reading.ts";
import { endRun } from "../../reconciler/effects.ts";
import { PartialFailure } from "../../reconciler/rules/partial-failure.ts";
import type { KeyEffects } from "./effects/effects.ts";
import {
  closeRejected,
  closeUnwanted,
  isStagedPairNew,
  isUnstaged,
  isWanted,
  keysToListAfterRestore,
  lateKeysToList,
  obstacleToDelivery,
  pairToDeliver,
  previousOf,
  unlistedStagedPair,
  unrecordedPair,
} from "./rules/delivery.ts";
import { endOf } from "./rules/end.ts";
import { nextRevision, pairToTryAgain, reasonToIssue } from "./rules/issue.ts";
import { contentToRestore, isTargetNeeded, keyToRetire, onlyLetIn } from "./rules/maintenance.ts";
import { closingOf, isToSettle, unexplainedAttempt } from "./rules/recovery.ts";
import { isRehearsalDue } from "./rules/rehearsal.ts";
import type { ApiKeyEffects, ApiKeyEnded, ApiKeySnapshot, Closing } from "./rules/snapshot.ts";
import type { IssueAttempt } from "./rules/status.ts";
import {
  isCheckDue,
  pairToCheck,
  verdictOn,
  verdictOnCurrent,
  waitForKeyInUse,
} from "./rules/verification.ts";
import { type IssuedPair, isSamePair } from "./secret/pair.ts";
import { pairIn } from "./secret/view.ts";
import type { Timing } from "./timing.ts";

/** What a run needs in addition to its snapshot. */
export interface RunParts {
  readonly effects: KeyEffects;
  readonly timing: Timing;
  readonly readNow: ReadNow;
}

/**
 * Promises:
 * - A key is issued only right after its attempt was recorded (S6), by the run that recorded it. A run that finds an open
 *   attempt explains it first: its pair is delivered, or its keys are listed as lost.
 * - The Secret changes to a new pair only after the console has accepted that pair, and the status names a key only
 *   after the Secret holds it (S7).
 * - The previous key is revoked only after the whole overlap, with the new key verified and delivered (S3), and if the
 *   overlap waits for Pods, with no Pod on an older version of the Secret.
 * - A key in use is checked even if its successor is refused, and maintained even while its successor waits.
 *
 * Every effect may be the last before a crash: the next run decides from what is stored.
 */
export function* reconcileApiKey(
  start: ApiKeySnapshot,
  parts: RunParts,
): ApiKeyEffects<ApiKeyEnded> {
  const { effects, readNow, timing } = parts;
  let s = isStagedPairNew(start) ? yield* effects.noteStaged(start) : start;
  s = yield* stageHeldPair(s, parts);
  // Also of a suspended ApiKey: its key is checked, and read back if no status lists it.
  const isAlways = isCheckDue(s, readNow(), timing) || s.status.current === undefined;
  const read = isAlways ? effects.readPairToCheck : effects.readTarget;
  if (isTargetNeeded(s, readNow(), timing)) s = yield* read(s);
  s = yield* checkKeyInUse(s, parts);
  s = yield* supplyKey(s, parts);
  s = yield* maintainKey(s, parts);
  return endRun(s, endOf(s, readNow(), timing));
}

/** Comes before the successor, which can fail the run: a key that stopped working is reported anyway. */
function* checkKeyInUse(
  start: ApiKeySnapshot,
  { effects, readNow, timing }: RunParts,
): ApiKeyEffects<ApiKeySnapshot> {
  const pair = pairToCheck(start, readNow(), timing);
  return pair === undefined ? start : yield* effects.checkKeyInUse(start, { pair });
}

/**
 * Existing keys and pairs are made safe before anything new starts. A new pair takes the same way as one that an
 * interrupted run has left: it is staged, delivered and recorded from the top.
 */
function* supplyKey(start: ApiKeySnapshot, parts: RunParts): ApiKeyEffects<ApiKeySnapshot> {
  let s = yield* stageHeldPair(start, parts);
  s = yield* recordKeys(s, parts);
  const pair = pairToDeliver(s);
  if (pair !== undefined) return yield* deliverPair(s, pair, parts);
  s = yield* cleanPending(s, parts);
  const attempt = unexplainedAttempt(s);
  if (attempt === undefined) return yield* issueIfNeeded(s, parts);
  s = yield* explainAttempt(s, attempt, parts);
  return s.status.attempt === undefined ? yield* supplyKey(s, parts) : s;
}

/** A create that a gateway repeats may bring back an older pending Secret, which would block the new pair for good. */
function* stageHeldPair(start: ApiKeySnapshot, parts: RunParts): ApiKeyEffects<ApiKeySnapshot> {
  if (!isUnstaged(start)) return start;
  let s = yield* cleanPending(start, parts);
  if (s.held !== undefined) s = yield* parts.effects.stagePair(s, s.held);
  return isUnstaged(s) ? fail(s, new Error(NOT_STORED)) : s;
}

/** The status lists every key that a Secret holds, or that is no longer stored anywhere. */
function* recordKeys(
  start: ApiKeySnapshot,
  { effects, readNow }: RunParts,
): ApiKeyEffects<ApiKeySnapshot> {
  let s = start;
  const found = unrecordedPair(s);
  if (found !== undefined)
    s = yield* (found.isOfAttempt ? effects.commitKey : effects.rebuildStatus)(s, {
      pair: found.pair,
    });
  const orphans = keysToListAfterRestore(s, readNow());
  if (orphans.length > 0) s = yield* effects.listKeysBeforeRestore(s, { orphans });
  const keys = lateKeysToList(s);
  return keys.length > 0 ? yield* effects.listLateKeys(s, { keys }) : s;
}

/** Delivers a staged pair to the consumers once the console accepts it. */
function* deliverPair(
  start: ApiKeySnapshot,
  pair: IssuedPair,
  parts: RunParts,
): ApiKeyEffects<ApiKeySnapshot> {
  const { effects, readNow, timing } = parts;
  let s = start;
  if (obstacleToDelivery(pair, s, readNow()) !== undefined) return s;
  if (!isWanted(pair, s)) return yield* dropPair(s, closeUnwanted(pair), parts);
  if (verdictOn(pair, s) === undefined) s = yield* effects.verifyPair(s, { pair });
  if (verdictOn(pair, s) === "Rejected") {
    const closing = closeRejected(pair, s, readNow(), timing);
    return closing === undefined ? s : yield* dropPair(s, closing, parts);
  }
  s = yield* effects.switchSecret(s, { pair, previous: previousOf(pair, s, readNow()) });
  if (!isSamePair(pairIn(s.target), pair)) return fail(s, new Error(NOT_STORED));
  return yield* supplyKey(s, parts);
}

/** No consumer gets the staged pair. */
function* dropPair(
  start: ApiKeySnapshot,
  closing: Closing,
  parts: RunParts,
): ApiKeyEffects<ApiKeySnapshot> {
  const closed = yield* parts.effects.closeAttempt(start, closing);
  return yield* supplyKey(yield* cleanPending(closed, parts), parts);
}

const NOT_STORED = "the API server stores the Secret without the key pair";

/** Deletes the pending Secret after its pair is delivered or given up, or if the pair is unreadable. */
function* cleanPending(
  start: ApiKeySnapshot,
  { effects }: RunParts,
): ApiKeyEffects<ApiKeySnapshot> {
  let s = start;
  if (s.pending.kind !== "Ours") return s;
  const pair = unlistedStagedPair(s);
  if (pair !== undefined) s = yield* effects.listUnlistedKey(s, { pair });
  return yield* effects.deletePending(s);
}

/** The run of the account finds out whether an attempt has issued a key whose pair is nowhere. */
export function* explainAttempt(
  start: ApiKeySnapshot,
  attempt: IssueAttempt,
  { effects, readNow, timing }: RunParts,
): ApiKeyEffects<ApiKeySnapshot> {
  let s = start;
  if (s.recovery?.attemptId !== attempt.id) s = yield* effects.startRecovery(s, { attempt });
  const closing = closingOf(attempt, s, readNow(), timing);
  if (closing !== undefined) return yield* effects.closeAttempt(s, closing);
  return isToSettle(attempt, s, readNow(), timing)
    ? yield* effects.settleAttempt(s, { attempt })
    : s;
}

/** Each answer may change the decision, so it is made again. */
function* issueIfNeeded(start: ApiKeySnapshot, parts: RunParts): ApiKeyEffects<ApiKeySnapshot> {
  const { effects, readNow, timing } = parts;
  let s = start;
  if (reasonToIssue(s, readNow(), timing) === undefined) return s;
  if (s.target.kind === "Unlisted" || s.target.kind === "Unread")
    return yield* supplyKey(yield* effects.readTarget(s), parts);
  s = yield* effects.precheck(s);
  if (s.precheck === undefined) return yield* supplyKey(s, parts);
  const { stop, knownKeyIds } = s.precheck;
  if (stop !== undefined) return s;
  const pair = pairToTryAgain(s, readNow(), timing);
  if (pair !== undefined) s = yield* effects.verifyPair(s, { pair });
  const because = reasonToIssue(s, readNow(), timing);
  if (because === undefined) return s;
  s = yield* effects.recordIntent(s, { because, knownKeyIds, revision: nextRevision(s) });
  const { attempt } = s.status;
  if (attempt === undefined) return s;
  s = yield* effects.issueKey(s, { attempt });
  return yield* supplyKey(s, parts);
}

/** Looks after the key in use and the keys before it, whatever its successor waits for. */
function* maintainKey(start: ApiKeySnapshot, parts: RunParts): ApiKeyEffects<ApiKeySnapshot> {
  const { effects, readNow, timing } = parts;
  let s = start;
  const contents = contentToRestore(s, readNow());
  if (contents !== undefined) s = yield* effects.renderSecret(s, contents);
  s = yield* checkKeyInUse(s, parts);
  if (waitForKeyInUse(s, readNow(), timing) === undefined) s = yield* retireKeys(s, parts);
  return isRehearsalDue(s, readNow()) ? yield* effects.rehearse(s) : s;
}

/** A superseded key may be the only working key, so the console must accept the key in use right before. */
function* retireKeys(
  start: ApiKeySnapshot,
  { effects, readNow }: RunParts,
): ApiKeyEffects<ApiKeySnapshot> {
  let s = start;
  let due = keyToRetire(s, readNow());
  const pair = pairIn(s.target);
  if (due === undefined || pair === undefined) return s;
  if (verdictOnCurrent(s) === undefined) s = yield* effects.verifyPair(s, { pair });
  if (verdictOnCurrent(s) === "LetIn") fail(s, onlyLetIn(pair.keyId, due));
  for (; due !== undefined && verdictOnCurrent(s) === "Accepted"; due = keyToRetire(s, readNow()))
    s = yield* effects[due.call](s, { keyId: due.keyId });
  return s;
}

/** Ends the run as failed, whatever is left to do. */
function fail(snapshot: ApiKeySnapshot, error: Error): never {
  throw new PartialFailure(snapshot, error);
}
