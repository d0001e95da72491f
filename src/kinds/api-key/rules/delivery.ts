/** Moves a pair from process memory to the consumers. Pure. */
import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import type { Waiting } from "../../../reconciler/rules/outcome.ts";
import { type IssuedPair, isSamePair } from "../secret/pair.ts";
import { attemptOf, pairIn } from "../secret/view.ts";
import type { Timing } from "../timing.ts";
import { accountOf, isOfSpec } from "./accounts.ts";
import { permissionsAreMissing, secretConflict } from "./blocks.ts";
import { isListedInactive } from "./listed-keys.ts";
import { isOutdated } from "./needs.ts";
import type { ActionOf, ApiKeyProgress, ApiKeySnapshot, ApiKeyStep } from "./snapshot.ts";
import { listedKeyIds } from "./status.ts";
import { verdictKey } from "./verification.ts";

/** Records in process memory what the staging Secret proves: peers need not wait for the attempt any more. */
export function noteStaged({
  snapshot: { staging, held, status },
  done,
}: ApiKeyProgress): ApiKeyStep | undefined {
  const pair = pairIn(staging);
  if (pair === undefined || done.hasNotedStaged === true) return undefined;
  const isHeld = isSamePair(held?.pair, pair);
  const isOfAttempt = status.attempt !== undefined && attemptOf(staging) === status.attempt.id;
  return isHeld || isOfAttempt ? { kind: "NoteStaged" } : undefined;
}

/** A create that a gateway repeats may bring back an older staging Secret, which would block the new pair for good. */
export function stageHeldPair(progress: ApiKeyProgress): ApiKeyStep | undefined {
  const { held, staging } = progress.snapshot;
  if (held === undefined || isSamePair(pairIn(staging), held.pair)) return undefined;
  return cleanStaging(progress) ?? { kind: "StagePair", ...held };
}

/** The Secret takes precedence over a status that was lost or is older. */
export function rebuildStatus({ snapshot }: ApiKeyProgress): ApiKeyStep | undefined {
  const { status, target } = snapshot;
  const pair = pairIn(target);
  if (pair === undefined) return undefined;
  if (isOfOpenAttempt(pair, snapshot)) return { kind: "CommitKey", pair };
  if (isOutdated(pair, status)) return undefined;
  if (pair.keyId === status.current?.keyId) return undefined;
  return status.attempt?.revision === pair.revision
    ? { kind: "CommitKey", pair }
    : { kind: "RebuildStatus", pair };
}

/**
 * Whether the pending Secret shows that the open attempt issued the delivered pair. The console may have issued a key
 * with the ID of an earlier key, so the ID alone proves nothing.
 */
function isOfOpenAttempt(
  delivered: IssuedPair,
  { status: { attempt }, staging }: ApiKeySnapshot,
): boolean {
  const isOfAttempt = attempt !== undefined && attemptOf(staging) === attempt.id;
  return isOfAttempt && isSamePair(pairIn(staging), delivered);
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
  const pair = pairIn(snapshot.staging);
  if (pair === undefined || !isNews(pair, snapshot)) return undefined;
  if (!isWanted(pair, snapshot)) return leave(pair, snapshot);
  const account = accountOf(pair, snapshot);
  if (account.kind === "Waiting") return account;
  const conflict =
    secretConflict(snapshot) ??
    (isOfSpec(pair, snapshot) ? permissionsAreMissing(snapshot, at) : undefined);
  if (conflict !== undefined) return conflict;
  const isAccepted = done.verdicts?.get(verdictKey(pair, snapshot));
  if (isAccepted === undefined) return { kind: "VerifyPair", pair };
  if (isAccepted) return { kind: "SwitchSecret", pair, previous: previousOf(pair, snapshot) };
  const refusedForMs = refusedFor(snapshot, pair.keyId, at);
  // Without the list, a new key is not known to be inactive: the console may be slow to accept it.
  const isInactive = isListedInactive(account, pair.keyId);
  const patienceMs = isInactive ? timing.endedPatienceMs : timing.verifyGiveUpMs;
  return refusedForMs >= patienceMs
    ? giveUp(pair, isInactive, snapshot, at)
    : waitForConsole(pair, refusedForMs >= timing.verifyPatienceMs, timing);
}

/**
 * Whether consumers may get the pair: it belongs to the account that the spec names, or to the account whose key they
 * have. A rotation that was under way when the spec changed ends as usual.
 */
function isWanted(pair: IssuedPair, snapshot: ApiKeySnapshot): boolean {
  return isOfSpec(pair, snapshot) || pair.saId === snapshot.status.current?.saId;
}

/** The spec named the pair's account only for a while. Its key is ended like other superseded keys. */
function leave(unwanted: IssuedPair, { account }: ApiKeySnapshot): ApiKeyStep {
  if (account.kind === "Waiting") return account;
  const because = `spec.serviceAccountRef no longer names ServiceAccount ${unwanted.serviceAccount}, so no consumer gets key ${unwanted.keyId}`;
  return { kind: "CloseAttempt", orphans: [], refund: false, unwanted, because };
}

/** A reissued key has one ID and two secrets, and the earlier secret is not a pair of its own. */
function previousOf(pair: IssuedPair, { target }: ApiKeySnapshot): IssuedPair | undefined {
  const delivered = pairIn(target);
  return delivered?.keyId === pair.keyId ? undefined : delivered;
}

/** Whether the target should get a staged pair: it is newer, and neither delivered nor given up. */
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
  { status: { current, superseded, orphaned }, staging }: ApiKeySnapshot,
): boolean {
  const attemptId = attemptOf(staging);
  return (
    (current?.keyId === keyId && current.revision >= revision) ||
    superseded.some((key) => key.keyId === keyId && key.issueTime >= issueTime) ||
    orphaned.some((key) => key.keyId === keyId && key.attemptId === attemptId)
  );
}

function refusedFor({ pendingRejection }: ApiKeySnapshot, keyId: string, at: ClockReading): number {
  return pendingRejection?.keyId === keyId ? at.monotonic - pendingRejection.since : 0;
}

function giveUp(
  { keyId, expirationTime, serviceAccount, saId }: IssuedPair,
  isInactive: boolean,
  { status, staging }: ApiKeySnapshot,
  { now }: ClockReading,
): ActionOf<"CloseAttempt"> {
  const attemptId = status.attempt?.id ?? attemptOf(staging) ?? "unknown";
  return {
    kind: "CloseAttempt",
    orphans: [
      {
        keyId,
        attemptId,
        observedTime: now,
        expirationTime,
        late: undefined,
        serviceAccount,
        saId,
      },
    ],
    refund: false,
    because: isInactive
      ? `the console rejects key ${keyId} and lists it as inactive or expired`
      : `the console never accepted key ${keyId}`,
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
