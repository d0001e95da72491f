/**
 * The rehearsal of the next key: dry runs of the writes that would deliver it, right before each issue and once a day.
 * Pure.
 */

import { findCondition } from "../../../api/conditions.ts";
import { ISSUANCE_ALLOWED, SECRET_REJECTED } from "../../../api/issuance.ts";
import { pendingSecretName } from "../../../api/secret-names.ts";
import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import { stableFraction } from "../../../reconciler/rules/stable-fraction.ts";
import { ended } from "../../../util/ended.ts";
import { DAY, HOUR } from "../../../util/time.ts";
import { secretNameOf } from "../secret/owner.ts";
import { describeUnkept, pendingConflict, secretIsImmutable } from "./blocks.ts";
import { SECRET_NOT_KEPT } from "./not-kept.ts";
import { isRefuted } from "./refuted.ts";
import type { ApiKeySnapshot, KeyNeed, Rehearsal, Trial } from "./snapshot.ts";
import { isCheckRequested } from "./verification.ts";

/**
 * Once a day; hourly, and for each spec, while the next key could not be delivered; on request; and after a write of the
 * same Secret that the API server has refused or changed, or that contradicts the last rehearsal.
 */
export function isRehearsalDue(snapshot: ApiKeySnapshot, at: ClockReading): boolean {
  if (!canRehearse(snapshot)) return false;
  const isOver = snapshot.rehearsal?.stop !== stopInRehearsal(snapshot);
  const isDoubtful =
    isOver ||
    isWriteDoubtful(snapshot) ||
    isCheckRequested(snapshot) ||
    isRefusedSince(snapshot, snapshot.rehearsal ?? unrehearsed(snapshot, at));
  return isDoubtful || nextRehearsalMs(snapshot, at) === 0;
}

/** The next key is needed soon. */
function isRefusedSince({ rejection, status }: ApiKeySnapshot, { from }: Rehearsal): boolean {
  return (
    rejection !== undefined && rejection.keyId === status.current?.keyId && from < rejection.since
  );
}

function isWriteDoubtful({ refusedContent, hasWritten, notKept, rehearsal }: ApiKeySnapshot) {
  if (refusedContent !== undefined) return true;
  return hasWritten === true && (notKept !== undefined || rehearsal?.stop !== undefined);
}

/** What the last rehearsal has shown, unless the run has read that it is over. */
export function stopInRehearsal(snapshot: ApiKeySnapshot): KeyNeed | undefined {
  const stop = snapshot.rehearsal?.stop;
  return stop === undefined || isRefuted(stop.reason, snapshot) ? undefined : stop;
}

/** Milliseconds until the next rehearsal; `undefined` if none is possible. */
export function nextRehearsalMs(snapshot: ApiKeySnapshot, at: ClockReading): number | undefined {
  if (!canRehearse(snapshot)) return undefined;
  const { rehearsal = unrehearsed(snapshot, at), object } = snapshot;
  const { from, generation, stop } = rehearsal;
  const isStopped = stop !== undefined || isStillToRehearse(snapshot);
  if (isStopped && generation !== object.metadata.generation) return 0;
  return Math.max(from + intervalOf(rehearsal) - at.monotonic, 0);
}

/** Whether an earlier process has reported what a rehearsal showed, and this one has not rehearsed yet. */
export function isStillToRehearse({ object, rehearsal }: ApiKeySnapshot): boolean {
  const before = findCondition(object.status?.conditions, ISSUANCE_ALLOWED);
  return rehearsal?.generation === undefined && SHOWN_BY_REHEARSALS.has(before?.reason);
}

const SHOWN_BY_REHEARSALS: ReadonlySet<string | undefined> = new Set([
  SECRET_REJECTED,
  SECRET_NOT_KEPT,
  "SecretConflict",
]);

function intervalOf({ stop }: Rehearsal): number {
  return stop === undefined ? DAY : HOUR;
}

/** For a process that has just started: the first rehearsals of all objects are spread over a day. */
export function unrehearsed(
  { self }: ApiKeySnapshot,
  { monotonic }: Pick<ClockReading, "monotonic">,
): Rehearsal {
  const from = monotonic - DAY * (1 - stableFraction(self.uid));
  return { from, generation: undefined, stop: undefined };
}

/** Only between two issues: an issue rehearses its own writes. */
export function canRehearse({
  account,
  status,
  held,
  target,
  pending,
  self,
}: ApiKeySnapshot): boolean {
  return (
    account.kind === "Ready" &&
    self.deletingSince === undefined &&
    status.current !== undefined &&
    status.attempt === undefined &&
    held === undefined &&
    (target.kind === "Ours" || target.kind === "Unread") &&
    (pending.kind === "Absent" || pending.kind === "Unlisted")
  );
}

/** A rehearsal that shows nothing is repeated after an hour. */
export function postponed(snapshot: ApiKeySnapshot, monotonic: number): Rehearsal {
  const { rehearsal = unrehearsed(snapshot, { monotonic }) } = snapshot;
  return { ...rehearsal, from: monotonic + HOUR - intervalOf(rehearsal) };
}

/** What a rehearsal has shown. */
export function rehearsed(snapshot: ApiKeySnapshot, trial: Trial, monotonic: number): Rehearsal {
  const { generation } = snapshot.object.metadata;
  return { from: monotonic, generation, stop: stopIn(snapshot, trial) };
}

function stopIn(
  snapshot: ApiKeySnapshot,
  { pending, refusal, notKept, reported }: Trial,
): KeyNeed | undefined {
  const immutable = secretIsImmutable(snapshot);
  if (immutable !== undefined) return immutable;
  if (pending !== undefined) return pendingConflict({ ...snapshot, pending });
  if (notKept !== undefined) return { reason: SECRET_NOT_KEPT, message: describeUnkept(notKept) };
  if (refusal === undefined) return reported;
  const name = secretNameOf(snapshot.self.name, snapshot.spec);
  return {
    reason: SECRET_REJECTED,
    message: `In a dry run, the API server rejects a write that a new key needs (Secret ${name} or ${pendingSecretName(name)}), so none is issued: ${ended(refusal.message)} Declare in spec.secret what the API server requires, exempt the operator's Secrets from the policy that rejects them, or raise the quota.`,
  };
}
