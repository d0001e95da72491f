/**
 * What to do next for an ApiKey: pure, one effect per step.
 *
 * Guarantees
 * - A key is asked for only in the step after the attempt was written down (S6), and only by the pass that
 *   wrote it. An attempt found open is explained first: its pair is delivered, or its keys are listed as lost.
 * - The Secret changes to a new pair only after the console has accepted that pair, and the status names a key
 *   only after the Secret holds it (S7).
 * - The previous key is touched only after the whole overlap, with the new key verified and delivered (S3), and
 *   with no Pod on an older content where the overlap waits for that.
 *
 * Every step may be the last one before a crash: the next pass decides from what is stored then.
 */
import type { Instant } from "../../util/time.ts";
import { isConverged } from "./consumers.ts";
import { isDelivered, pairIn, renderingOf } from "./delivered.ts";
import type { Moment, Timing } from "./moment.ts";
import type { Account, Observed, OrphanedKey, State, SupersededKey } from "./observed.ts";
import type { IssuedPair } from "./pair.ts";
import {
  type Block,
  firstFinding,
  isOutdated,
  mustIssue,
  mustNotIssue,
  secretIsNotOurs,
  type Verdict,
} from "./policies.ts";
import { expiryOf, overlapEnd } from "./schedule.ts";
import { attemptOf, type OwnSecret } from "./secret.ts";

export type Action =
  | { readonly kind: "AddFinalizer" }
  /** Writes the only copy of a new pair into the staging Secret. */
  | { readonly kind: "StagePair"; readonly pair: IssuedPair; readonly attemptId: string }
  /** Reads the account's keys to learn what became of an open attempt. */
  | { readonly kind: "ReadLeftovers" }
  | {
      readonly kind: "CloseAttempt";
      readonly orphans: readonly OrphanedKey[];
      /** Whether it is certain that no key was issued, so that the budget gets it back. */
      readonly refund: boolean;
      readonly because: string;
    }
  | { readonly kind: "VerifyPair"; readonly pair: IssuedPair }
  | { readonly kind: "SwitchSecret"; readonly pair: IssuedPair; readonly previous: Previous }
  | { readonly kind: "CommitKey"; readonly pair: IssuedPair }
  | { readonly kind: "DeleteStaging"; readonly because: string }
  /** Lists a pair that no status accounts for among the superseded ones. */
  | { readonly kind: "ListStray"; readonly pair: IssuedPair }
  | { readonly kind: "RebuildStatus"; readonly pair: IssuedPair }
  /** Lists keys that a restored API server has forgotten, and no Secret holds. */
  | { readonly kind: "ListForgotten"; readonly orphans: readonly OrphanedKey[] }
  | { readonly kind: "TakeTurn" }
  | { readonly kind: "Precheck"; readonly because: Verdict }
  | {
      readonly kind: "RecordAttempt";
      readonly because: Verdict;
      readonly knownKeyIds: readonly string[] | undefined;
      readonly revision: number;
    }
  | { readonly kind: "IssueKey" }
  | { readonly kind: "RenderSecret"; readonly pair: IssuedPair; readonly previous: Previous }
  | { readonly kind: "DisableKey"; readonly keyId: string }
  | { readonly kind: "DeleteKey"; readonly keyId: string };

type Previous = OwnSecret["previous"];

/** What {@link Timing.recoverySettleMs} reckons with. */
const DEFAULT_CALL_TIMEOUT_MS = 15_000;

/** Nothing more to do now. */
export interface Rest {
  readonly kind: "Rest";
  /** A key is needed, for this reason… */
  readonly needs?: Verdict;
  /** …and cannot be issued, for this one. */
  readonly block?: Block;
  /** What the pass waits for without any need of a key. */
  readonly waiting?: Verdict;
  /** Look again after this long at the latest. */
  readonly afterMs?: number;
}

type Step = Action | Rest;
type StepPolicy = (seen: Observed, at: Moment, timing: Timing) => Step | undefined;

/** In order: safety of what exists before anything new. */
const steps: readonly StepPolicy[] = [
  stageHeldPair,
  restWhileSuspended,
  addFinalizer,
  rebuildStatus,
  listForgotten,
  deliverPair,
  cleanStaging,
  recoverAttempt,
  carryOutAttempt,
  issue,
];

const maintenance: readonly StepPolicy[] = [renderSecret, verifyCurrent, retire];

export function plan(seen: Observed, at: Moment, timing: Timing): Step {
  const step = firstFinding(steps, seen, at, timing) ?? { kind: "Rest" };
  if (step.kind !== "Rest" || seen.spec.suspend) return step;
  // A key in use is looked after also while its successor has to wait.
  const care = firstFinding(maintenance, seen, at, timing);
  return care === undefined || (care.kind === "Rest" && isEventful(step)) ? step : care;
}

function isEventful({ block, waiting }: Rest): boolean {
  return block !== undefined || waiting !== undefined;
}

function stageHeldPair({ held, staging }: Observed): Step | undefined {
  if (held === undefined || pairIn(staging)?.keyId === held.pair.keyId) return undefined;
  return { kind: "StagePair", ...held };
}

function restWhileSuspended({ spec }: Observed): Step | undefined {
  return spec.suspend ? { kind: "Rest" } : undefined;
}

function addFinalizer({ self }: Observed): Step | undefined {
  return self.hasFinalizer ? undefined : { kind: "AddFinalizer" };
}

/** The Secret knows better than a status that was lost or is older. */
function rebuildStatus({ state, target }: Observed): Step | undefined {
  const pair = pairIn(target);
  if (pair === undefined || isOutdated(pair, state)) return undefined;
  if (pair.keyId === state.current?.keyId) return undefined;
  if (state.attempt !== undefined && state.attempt.revision === pair.revision)
    return { kind: "CommitKey", pair };
  return { kind: "RebuildStatus", pair };
}

function listForgotten(seen: Observed, { now }: Moment): Step | undefined {
  const { forgotten, state, held, staging, target } = seen;
  const pairs = [held?.pair, pairIn(staging), pairIn(target)].map((pair) => pair?.keyId);
  const known = new Set<string | undefined>([...listedKeyIds(state), ...pairs]);
  const orphans = forgotten.filter(
    ({ keyId, expirationTime }) => !known.has(keyId) && now < expirationTime,
  );
  return orphans.length === 0 ? undefined : { kind: "ListForgotten", orphans };
}

/** A staged pair that consumers do not have yet goes to them, once the console accepts it. */
function deliverPair(seen: Observed, at: Moment, timing: Timing): Step | undefined {
  const { state, staging, target, account } = seen;
  const pair = pairIn(staging);
  if (pair === undefined || !isNews(pair, seen)) return undefined;
  if (account.kind !== "Ready") return { kind: "Rest", waiting: account };
  const foreign = secretIsNotOurs(seen);
  if (foreign !== undefined) return { kind: "Rest", block: foreign };
  if (seen.provenKeyId === pair.keyId)
    return { kind: "SwitchSecret", pair, previous: pairIn(target) };
  if (seen.unprovenKeyId !== pair.keyId) return { kind: "VerifyPair", pair };
  const refusedForMs = refusedFor(seen, pair.keyId, at);
  if (refusedForMs >= timing.verifyGiveUpMs)
    return {
      kind: "CloseAttempt",
      orphans: [
        {
          keyId: pair.keyId,
          attemptId: state.attempt?.id ?? stagedAttempt(staging),
          observedTime: at.now,
          expirationTime: pair.expirationTime,
        },
      ],
      refund: false,
      because: `the console never accepted key ${pair.keyId}`,
    };
  return {
    kind: "Rest",
    waiting: {
      reason: refusedForMs >= timing.verifyPatienceMs ? "VerificationFailed" : "Verifying",
      message: `The console does not accept the new key ${pair.keyId} yet; it is kept and tried again.`,
    },
    afterMs:
      refusedForMs >= timing.verifyPatienceMs ? timing.verifySlowRetryMs : timing.verifyRetryMs,
  };
}

function stagedAttempt(staging: Observed["staging"]): string {
  return (staging.kind === "Ours" ? attemptOf(staging) : undefined) ?? "unknown";
}

/** Whether a staged pair is one that the target should get: newer, and neither delivered nor given up. */
function isNews(pair: IssuedPair, { state, target }: Observed): boolean {
  if (state.orphaned.some(({ keyId }) => keyId === pair.keyId)) return false;
  if (state.superseded.some(({ keyId }) => keyId === pair.keyId)) return false;
  const delivered = pairIn(target);
  if (delivered === undefined) return true;
  // The Secret's own record of the revision can be edited; the status knows better.
  const { revision } = delivered.keyId === state.current?.keyId ? state.current : delivered;
  return delivered.keyId !== pair.keyId && revision < pair.revision;
}

function refusedFor({ rejection }: Observed, keyId: string, at: Moment): number {
  return rejection?.keyId === keyId ? at.monotonic - rejection.since : 0;
}

/** An attempt whose pair is nowhere: find out whether keys were issued, and list them as lost. */
export function recoverAttempt(seen: Observed, at: Moment, timing: Timing): Step | undefined {
  const { state, account, recovery } = seen;
  const { attempt } = state;
  if (attempt === undefined || seen.armed === attempt.id) return undefined;
  if (attemptPair(seen) !== undefined) return undefined;
  if (account.kind !== "Ready") return { kind: "Rest", waiting: account };
  const waiting = {
    reason: "Recovering",
    message: `Attempt ${attempt.id} to issue a key was interrupted; the account's keys tell whether one was issued.`,
  };
  if (recovery === undefined || recovery.attemptId !== attempt.id)
    return { kind: "Rest", waiting, afterMs: settleMs(account, timing) };
  if (seen.secondRead !== undefined) return closeAttempt(seen, at);
  const dueAt =
    recovery.firstRead === undefined
      ? recovery.since + settleMs(account, timing)
      : recovery.firstRead.at + timing.recoveryGapMs;
  return at.monotonic >= dueAt
    ? { kind: "ReadLeftovers" }
    : { kind: "Rest", waiting, afterMs: dueAt - at.monotonic };
}

/** Time-outs beyond the default one are waited out as well. */
function settleMs({ callTimeoutMs }: Account, { recoverySettleMs }: Timing): number {
  return recoverySettleMs + Math.max(callTimeoutMs - DEFAULT_CALL_TIMEOUT_MS, 0);
}

/** The pair that the open attempt led to, wherever it is. */
function attemptPair({ state, held, staging, target }: Observed): IssuedPair | undefined {
  if (held !== undefined && held.attemptId === state.attempt?.id) return held.pair;
  if (staging.kind === "Ours" && attemptOf(staging) === state.attempt?.id) return staging.pair;
  const delivered = pairIn(target);
  return delivered?.revision === state.attempt?.revision &&
    delivered?.keyId !== state.current?.keyId
    ? delivered
    : undefined;
}

function closeAttempt(seen: Observed, { now }: Moment): Step | undefined {
  const { state, spec, recovery, secondRead, peerKeyIds } = seen;
  const { attempt } = state;
  if (attempt === undefined) return undefined;
  const lost = (keyId: string | undefined): OrphanedKey => ({
    keyId,
    attemptId: attempt.id,
    observedTime: now,
    expirationTime: expiryOf(
      Math.max(attempt.startTime, now),
      attempt.expiresInDays ?? spec.expiresInDays,
    ),
  });
  const close = (orphans: readonly OrphanedKey[], because: string): Step => ({
    kind: "CloseAttempt",
    orphans,
    refund: orphans.length === 0,
    because,
  });
  const listed = union(recovery?.firstRead?.keyIds, secondRead?.keyIds);
  if (attempt.knownKeyIds === undefined || listed === undefined)
    return close([lost(undefined)], "the console does not list keys, so one is assumed to be lost");
  const known = new Set([...attempt.knownKeyIds, ...peerKeyIds, ...listedKeyIds(state)]);
  const found = [...listed].filter((keyId) => !known.has(keyId));
  if (found.length > 0)
    return close(found.map(lost), `issued, but the answer was lost: ${found.join(", ")}`);
  const unlisted = keysInUse(seen, now).find((keyId) => !listed.has(keyId));
  if (unlisted === undefined) return close([], "no key was issued");
  return close(
    [lost(undefined)],
    `the console's list of keys lacks ${unlisted}, which is in use, and so proves nothing: one is assumed to be lost`,
  );
}

function union(
  ...lists: readonly (readonly string[] | undefined)[]
): ReadonlySet<string> | undefined {
  const known = lists.filter((list) => list !== undefined);
  return known.length === 0 ? undefined : new Set(known.flat());
}

/** Keys of the account that a complete list has to have: the console has accepted them, and nothing says that it ended them. */
function keysInUse(
  { state: { current }, rejection, peerKeysInUse }: Observed,
  now: Instant,
): readonly string[] {
  const isOurs =
    current?.verificationTime !== undefined &&
    now < current.expirationTime &&
    rejection?.keyId !== current.keyId;
  return isOurs ? [current.keyId, ...peerKeysInUse] : peerKeysInUse;
}

/** Staging goes when its pair is delivered, given up, or broken beyond use. */
function cleanStaging(seen: Observed): Step | undefined {
  const { staging, state } = seen;
  if (staging.kind !== "Ours") return undefined;
  const { pair } = staging;
  if (pair === undefined)
    return { kind: "DeleteStaging", because: "it was edited and holds no key pair" };
  return listedKeyIds(state).includes(pair.keyId)
    ? { kind: "DeleteStaging", because: `key ${pair.keyId} is accounted for` }
    : { kind: "ListStray", pair };
}

/** The keys that the status answers for. */
export function listedKeyIds({ current, superseded, orphaned }: State): readonly string[] {
  return [current, ...superseded, ...orphaned]
    .map((key) => key?.keyId)
    .filter((keyId) => keyId !== undefined);
}

function carryOutAttempt({ state, armed }: Observed): Step | undefined {
  return state.attempt !== undefined && state.attempt.id === armed
    ? { kind: "IssueKey" }
    : undefined;
}

function issue(seen: Observed, at: Moment, timing: Timing): Step | undefined {
  const needs = firstFinding(mustIssue, seen, at, timing);
  // An open attempt is the only trace of its key: it is never written over (S6).
  if (needs === undefined || seen.state.attempt !== undefined) return undefined;
  const block = firstFinding(mustNotIssue, seen, at, needs);
  if (block !== undefined) return rest(needs, block, at);
  if (!seen.hasTurn) return { kind: "TakeTurn" };
  if (seen.precheck === undefined) return { kind: "Precheck", because: needs };
  return {
    kind: "RecordAttempt",
    because: needs,
    knownKeyIds: seen.precheck.knownKeyIds,
    revision: nextRevision(seen),
  };
}

function rest(needs: Verdict, block: Block, { now }: Moment): Rest {
  return {
    kind: "Rest",
    needs,
    block,
    ...(block.until === undefined ? {} : { afterMs: block.until - now }),
  };
}

function nextRevision({ state, target, staging }: Observed): number {
  return (
    Math.max(
      state.current?.revision ?? 0,
      state.attempt?.revision ?? 0,
      pairIn(target)?.revision ?? 0,
      pairIn(staging)?.revision ?? 0,
    ) + 1
  );
}

/** The Secret shows exactly what is declared: after an edit, a change of the template, the end of an overlap. */
function renderSecret(seen: Observed, { now }: Moment): Step | undefined {
  const rendering = renderingOf(seen, now);
  if (rendering === undefined || rendering.isInPlace) return undefined;
  const { pair, previous } = rendering;
  return { kind: "RenderSecret", pair, previous };
}

/** A key in the Secret that was never tried, or that the console no longer lists, is tried. */
function verifyCurrent(seen: Observed, { now }: Moment, timing: Timing): Step | undefined {
  const { state, account, target, triedAt } = seen;
  const pair = pairIn(target);
  if (pair === undefined || !isDelivered(seen) || account.kind !== "Ready") return undefined;
  if (seen.provenKeyId === pair.keyId) return undefined;
  const refused = seen.rejection?.keyId === pair.keyId;
  const unproven = refused || state.current?.verificationTime === undefined;
  const missing = isMissing(pair.keyId, state.current?.verificationTime, account);
  if (!unproven && !missing) return undefined;
  const retryMs = unproven ? timing.verifyRetryMs : timing.keyCheckMs;
  // Never longer than that, also where the clock was set back.
  const waitMs = clamp((triedAt ?? 0) + retryMs - now, 0, retryMs);
  if (waitMs === 0 && seen.unprovenKeyId !== pair.keyId) return { kind: "VerifyPair", pair };
  if (!unproven) return undefined;
  return {
    kind: "Rest",
    waiting: {
      reason: "Verifying",
      message: `The console does not accept key ${pair.keyId}; it is tried again.`,
    },
    afterMs: Math.max(waitMs, timing.verifyRetryMs),
  };
}

/** Whether the console has left a key out of a list that was made after the key had been accepted. */
function isMissing(
  keyId: string,
  verificationTime: Instant | undefined,
  { liveKeyIds, lastKeyListTime }: Account,
): boolean {
  const isLater =
    verificationTime !== undefined &&
    lastKeyListTime !== undefined &&
    lastKeyListTime > verificationTime;
  return isLater && liveKeyIds?.includes(keyId) === false;
}

/** Ends superseded keys after the overlap, where the connection names the calls for it. */
function retire(seen: Observed, { now }: Moment): Step | undefined {
  const { spec, state, account, target } = seen;
  const { current } = state;
  if (account.kind !== "Ready" || current?.verificationTime === undefined) return undefined;
  if (pairIn(target)?.keyId !== current.keyId) return undefined;
  const converged = isConverged(seen);
  const retiring = state.superseded.find(
    (key) =>
      canRetire(key, account) &&
      !seen.unended?.has(key.keyId) &&
      now >= overlapEnd(key, spec.rotation, converged) &&
      now < key.expirationTime,
  );
  if (retiring === undefined) return undefined;
  return {
    kind: retiring.state === "Live" && account.canDisableKeys ? "DisableKey" : "DeleteKey",
    keyId: retiring.keyId,
  };
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}

export function canRetire(
  { state }: Pick<SupersededKey, "state">,
  { canDisableKeys, canDeleteKeys }: { canDisableKeys: boolean; canDeleteKeys: boolean },
): boolean {
  if (state === "Live") return canDisableKeys || canDeleteKeys;
  return state === "Disabled" && canDeleteKeys;
}
