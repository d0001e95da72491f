/** Moves a pair from process memory to the consumers. Pure. */
import type { ClockReading } from "../../frame/clock-reading.ts";
import type { Waiting } from "../../frame/rules/outcome.ts";
import type { IssuedPair } from "../secret/pair.ts";
import { attemptOf, pairIn } from "../secret/view.ts";
import type { Timing } from "../timing.ts";
import { secretConflict } from "./blocks.ts";
import { isOutdated } from "./needs.ts";
import type { ActionOf, ApiKeyProgress, ApiKeySnapshot, ApiKeyStep } from "./snapshot.ts";
import { listedKeyIds } from "./status.ts";

/** Records in process memory what the staging Secret proves: peers need not wait for the attempt any more. */
export function noteStaged({
  snapshot: { staging, held, status },
  done,
}: ApiKeyProgress): ApiKeyStep | undefined {
  const pair = pairIn(staging);
  if (pair === undefined || done.hasNotedStaged === true) return undefined;
  const isHeld = held?.pair.keyId === pair.keyId;
  const isOfAttempt = status.attempt !== undefined && attemptOf(staging) === status.attempt.id;
  return isHeld || isOfAttempt ? { kind: "NoteStaged" } : undefined;
}

/** A create that a gateway repeats may bring back an older staging Secret, which would block the new pair for good. */
export function stageHeldPair(progress: ApiKeyProgress): ApiKeyStep | undefined {
  const { held, staging } = progress.snapshot;
  if (held === undefined || pairIn(staging)?.keyId === held.pair.keyId) return undefined;
  return cleanStaging(progress) ?? { kind: "StagePair", ...held };
}

/** The Secret takes precedence over a status that was lost or is older. */
export function rebuildStatus({
  snapshot: { status, target },
}: ApiKeyProgress): ApiKeyStep | undefined {
  const pair = pairIn(target);
  if (pair === undefined || isOutdated(pair, status)) return undefined;
  if (pair.keyId === status.current?.keyId) return undefined;
  return status.attempt?.revision === pair.revision
    ? { kind: "CommitKey", pair }
    : { kind: "RebuildStatus", pair };
}

/** After the API server is restored from an older backup, the status lacks keys that were issued since. */
export function listKeysBeforeRestore(
  { snapshot }: ApiKeyProgress,
  { now }: ClockReading,
): ApiKeyStep | undefined {
  const { keysBeforeRestore, status, held, staging, target } = snapshot;
  if (keysBeforeRestore.length === 0) return undefined;
  const pairs = [held?.pair, pairIn(staging), pairIn(target)].map((pair) => pair?.keyId);
  const known = new Set<string | undefined>([...listedKeyIds(status), ...pairs]);
  const orphans = keysBeforeRestore.filter(
    ({ keyId, expirationTime }) => !known.has(keyId) && now < expirationTime,
  );
  return orphans.length === 0 ? undefined : { kind: "ListKeysBeforeRestore", orphans };
}

/** Further late keys are left to the account's report: their descriptions can be forged. */
const MAX_ORPHANS_WITH_LATE = 500;

/** A closed attempt may still issue a key: its call may take effect late, or twice. */
export function listLateKeys({ snapshot, done }: ApiKeyProgress): ApiKeyStep | undefined {
  const { lateKeys, status, held, staging, target } = snapshot;
  if (lateKeys.length === 0 || done.defersLateKeys === true) return undefined;
  const pairs = [held?.pair, pairIn(staging), pairIn(target)].map((pair) => pair?.keyId);
  const known = new Set<string | undefined>([...listedKeyIds(status), ...pairs]);
  const keys = lateKeys
    .filter(({ keyId, attemptId }) => !known.has(keyId) && attemptId !== status.attempt?.id)
    .slice(0, Math.max(MAX_ORPHANS_WITH_LATE - status.orphaned.length, 0));
  return keys.length === 0 ? undefined : { kind: "ListLateKeys", keys };
}

/** Delivers a staged pair to the consumers once the console accepts it. */
export function deliverPair(
  { snapshot, done }: ApiKeyProgress,
  at: ClockReading,
  timing: Timing,
): ApiKeyStep | undefined {
  const { staging, target, account } = snapshot;
  const pair = pairIn(staging);
  if (pair === undefined || !isNews(pair, snapshot)) return undefined;
  if (account.kind === "Waiting") return account;
  const conflict = secretConflict(snapshot);
  if (conflict !== undefined) return conflict;
  const isAccepted = done.verdicts?.get(pair.keyId);
  if (isAccepted === undefined) return { kind: "VerifyPair", pair };
  if (isAccepted) return { kind: "SwitchSecret", pair, previous: pairIn(target) };
  const refusedForMs = refusedFor(snapshot, pair.keyId, at);
  return refusedForMs >= timing.verifyGiveUpMs
    ? giveUp(pair, snapshot, at)
    : waitForConsole(pair, refusedForMs >= timing.verifyPatienceMs, timing);
}

/** Whether the target should get a staged pair: it is newer, and neither delivered nor given up. */
function isNews(pair: IssuedPair, { status, target }: ApiKeySnapshot): boolean {
  const ended = [...status.orphaned, ...status.superseded];
  if (ended.some(({ keyId }) => keyId === pair.keyId)) return false;
  const delivered = pairIn(target);
  if (delivered === undefined) return true;
  // The revision in the Secret can be edited, so the status takes precedence.
  const { revision } = delivered.keyId === status.current?.keyId ? status.current : delivered;
  return delivered.keyId !== pair.keyId && revision < pair.revision;
}

function refusedFor({ pendingRejection }: ApiKeySnapshot, keyId: string, at: ClockReading): number {
  return pendingRejection?.keyId === keyId ? at.monotonic - pendingRejection.since : 0;
}

function giveUp(
  { keyId, expirationTime }: IssuedPair,
  { status, staging }: ApiKeySnapshot,
  { now }: ClockReading,
): ActionOf<"CloseAttempt"> {
  const attemptId = status.attempt?.id ?? attemptOf(staging) ?? "unknown";
  return {
    kind: "CloseAttempt",
    orphans: [{ keyId, attemptId, observedTime: now, expirationTime, late: undefined }],
    refund: false,
    because: `the console never accepted key ${keyId}`,
  };
}

function waitForConsole({ keyId }: IssuedPair, isLate: boolean, timing: Timing): Waiting {
  return {
    kind: "Waiting",
    state: "Reconciling",
    reason: isLate ? "VerificationFailed" : "Verifying",
    message: `The console does not accept the new key ${keyId} yet; it is kept and tried again.`,
    afterMs: isLate ? timing.verifySlowRetryMs : timing.verifyRetryMs,
  };
}

/** Deletes the staging Secret after its pair is delivered or given up, or if the pair is unreadable. */
export function cleanStaging({
  snapshot: { staging, status },
}: ApiKeyProgress): ApiKeyStep | undefined {
  if (staging.kind !== "Ours") return undefined;
  const { pair } = staging;
  return pair === undefined || listedKeyIds(status).includes(pair.keyId)
    ? { kind: "DeleteStaging" }
    : { kind: "ListUnlistedKey", pair };
}
