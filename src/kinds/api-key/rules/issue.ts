/** From the need for a key to the call that issues it. Pure. */
import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import { firstFinding } from "../../../reconciler/rules/outcome.ts";
import { pairIn } from "../secret/view.ts";
import type { Timing } from "../timing.ts";
import { blocks, pairIsNotKept, WAITING_FOR_PEER } from "./blocks.ts";
import { needs } from "./needs.ts";
import type {
  ApiKeyDone,
  ApiKeyProgress,
  ApiKeySnapshot,
  ApiKeyStep,
  KeyNeed,
} from "./snapshot.ts";

/** Only the run that recorded an intent carries it out. */
export function carryOutIntent({
  snapshot: { status },
  done,
}: ApiKeyProgress): ApiKeyStep | undefined {
  return status.attempt !== undefined && status.attempt.id === done.intentRecorded
    ? { kind: "IssueKey" }
    : undefined;
}

export function prepareIssue(
  { snapshot, done }: ApiKeyProgress,
  at: ClockReading,
  timing: Timing,
): ApiKeyStep | undefined {
  const need = firstFinding(needs, snapshot, at, timing);
  // An open attempt is the only trace of its key: it must never be overwritten (S6).
  if (need === undefined || snapshot.status.attempt !== undefined) return undefined;
  const block = firstFinding(blocks, snapshot, at, need);
  if (block?.reason === WAITING_FOR_PEER && done.isQueued !== true)
    return { kind: "QueueForAccount" };
  if (block !== undefined) return block;
  if (snapshot.target.kind === "Unlisted") return { kind: "ReadTarget" };
  if (done.precheck === undefined) return { kind: "Precheck" };
  const { notKept, refusal } = done.precheck;
  if (notKept !== undefined) return pairIsNotKept(notKept);
  // It fails the run, but the key in use comes first.
  if (refusal !== undefined) return undefined;
  const check = lastCheck(need, snapshot, done);
  if (check !== undefined) return check;
  const { knownKeyIds } = done.precheck;
  return { kind: "RecordIntent", because: need, knownKeyIds, revision: nextRevision(snapshot) };
}

/**
 * The console may accept a rejected key again, for example after its account is enabled, so an earlier rejection is not
 * enough.
 */
function lastCheck(
  { reason }: KeyNeed,
  { status: { current }, target }: ApiKeySnapshot,
  { verdicts }: ApiKeyDone,
): ApiKeyStep | undefined {
  const pair = pairIn(target);
  const isChecked = current === undefined || verdicts?.has(current.keyId) === true;
  return reason === "KeyRefused" && pair !== undefined && !isChecked
    ? { kind: "VerifyPair", pair }
    : undefined;
}

function nextRevision({ status, target, staging }: ApiKeySnapshot): number {
  return (
    Math.max(
      status.current?.revision ?? 0,
      status.attempt?.revision ?? 0,
      pairIn(target)?.revision ?? 0,
      pairIn(staging)?.revision ?? 0,
    ) + 1
  );
}
