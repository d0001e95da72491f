/**
 * The next step for an ApiKey. Pure, one effect per step.
 *
 * Guarantees
 * - A key is issued only in the step after the attempt was recorded (S6), and only by the run that recorded the
 *   attempt. A run that finds an open attempt explains it first: its pair is delivered, or its keys are listed as lost.
 * - The Secret changes to a new pair only after the console has accepted that pair, and the status names a key only
 *   after the Secret holds it (S7).
 * - The previous key is revoked only after the whole overlap, with the new key verified and delivered (S3), and if the
 *   overlap waits for Pods, with no Pod on an older version of the Secret.
 *
 * Every step may be the last before a crash: the next run decides from the stored state.
 */
import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import { type Failing, firstFinding } from "../../../reconciler/rules/outcome.ts";
import type { Timing } from "../timing.ts";
import { reportMove } from "./accounts.ts";
import {
  cleanStaging,
  deliverPair,
  listKeysBeforeRestore,
  listLateKeys,
  noteStaged,
  rebuildStatus,
  stageHeldPair,
} from "./delivery.ts";
import { carryOutIntent, prepareIssue } from "./issue.ts";
import { readTarget, renderSecret, retire } from "./maintenance.ts";
import { reportNotKept } from "./not-kept.ts";
import { recoverAttempt } from "./recovery.ts";
import { rehearse } from "./rehearsal.ts";
import { reportReservedMetadata } from "./reserved-metadata.ts";
import type { ApiKeyDone, ApiKeyProgress, ApiKeyStep } from "./snapshot.ts";
import { verifyCurrent } from "./verification.ts";

type ApiKeyRule = (
  progress: ApiKeyProgress,
  at: ClockReading,
  timing: Timing,
) => ApiKeyStep | undefined;

/** In order: existing keys and pairs are made safe before anything new starts. */
const issuing: readonly ApiKeyRule[] = [
  readTarget,
  noteStaged,
  stageHeldPair,
  rebuildStatus,
  listKeysBeforeRestore,
  listLateKeys,
  deliverPair,
  cleanStaging,
  recoverAttempt,
  carryOutIntent,
  prepareIssue,
];

const maintenance: readonly ApiKeyRule[] = [
  renderSecret,
  verifyCurrent,
  retire,
  rehearse,
  reportNotKept,
  reportReservedMetadata,
  reportMove,
];

/** The next effect, or why there is none. */
export function next(progress: ApiKeyProgress, at: ClockReading, timing: Timing): ApiKeyStep {
  const step = firstFinding(issuing, progress, at, timing);
  if (step !== undefined && step.kind !== "Waiting") return step;
  // A key in use is maintained even while its successor waits.
  const care = firstFinding(maintenance, progress, at, timing);
  if (care !== undefined && care.kind !== "Waiting") return care;
  return failRun(progress.done) ?? step ?? care ?? { kind: "Settled" };
}

/**
 * A key that the console did not revoke, or a Secret that the API server does not accept, fails the run, but only after
 * everything else is done.
 */
export function failRun({ failedRevocations, precheck }: ApiKeyDone): Failing | undefined {
  const [error = precheck?.refusal] = failedRevocations?.values() ?? [];
  return error && { kind: "Failing", error };
}
