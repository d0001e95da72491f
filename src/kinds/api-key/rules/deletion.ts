/**
 * Deletion steps of an ApiKey. Pure, one effect per step. Deletion is bounded in time even if the console is down.
 *
 * Keys that the operator cannot revoke stay valid until they expire: the last event names them.
 */
import { toEvent } from "../../../api/events.ts";
import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import { blockedSince, cleanupDeadline } from "../../../reconciler/rules/cleanup.ts";
import { firstFinding, type Released } from "../../../reconciler/rules/outcome.ts";
import { certainTime } from "../../../util/agreed-time.ts";
import type { Instant } from "../../../util/time.ts";
import { pairIn } from "../secret/view.ts";
import type { Timing } from "../timing.ts";
import { isOfGoneAccount } from "./accounts.ts";
import { noteStaged } from "./delivery.ts";
import { mayWork } from "./listed-keys.ts";
import { endFirst } from "./maintenance.ts";
import { failRun } from "./next.ts";
import { assumeLost, recoverAttempt } from "./recovery.ts";
import type { ApiKeyProgress, ApiKeySnapshot, ApiKeyStep } from "./snapshot.ts";
import { listedKeyIds } from "./status.ts";

/** The next effect, or the reason to wait; at the end, permission to remove the finalizer. */
export function nextOfDeletion(
  progress: ApiKeyProgress,
  at: ClockReading,
  timing: Timing,
): ApiKeyStep | Released {
  const rules = [noteStaged, listUnlistedKeys, askConsole, deleteSecrets];
  return firstFinding(rules, progress, at, timing) ?? release(progress.snapshot, at);
}

/** A pending pair has a key in the console, which the status must list like the others. */
function listUnlistedKeys({
  snapshot: { status, held, staging, target },
}: ApiKeyProgress): ApiKeyStep | undefined {
  if (held !== undefined) return { kind: "ListUnlistedKey", pair: held.pair };
  const listed = listedKeyIds(status);
  const pair = [pairIn(staging), pairIn(target)].find(
    (candidate) => candidate !== undefined && !listed.includes(candidate.keyId),
  );
  return pair && { kind: "ListUnlistedKey", pair };
}

function askConsole(
  progress: ApiKeyProgress,
  at: ClockReading,
  timing: Timing,
): ApiKeyStep | undefined {
  const { snapshot, done } = progress;
  const { object, spec } = snapshot;
  const deadline = cleanupDeadline(blockedSince(object), at.now, timing.deletionPatienceMs);
  const open = recoverAttempt(progress, at, timing);
  if (at.now >= deadline) return open && assumeLost(snapshot, at);
  if (open !== undefined) return open;
  if (spec.secret.deletionPolicy === "Retain") return undefined;
  const keys = keysOf(snapshot);
  return endFirst(keys, snapshot, done.failedRevocations, certainTime(at)) ?? failRun(done);
}

function deleteSecrets({
  snapshot: { spec, staging, target },
}: ApiKeyProgress): ApiKeyStep | undefined {
  if (staging.kind === "Ours") return { kind: "DeleteStaging" };
  return target.kind === "Ours" && spec.secret.deletionPolicy === "Delete"
    ? { kind: "DeleteTarget" }
    : undefined;
}

/**
 * Every key whose pair was stored, with its state. The key in use comes last: if the console's list lacks it although
 * it works, or because an earlier run has revoked it, the list proves nothing about the other keys either.
 */
function keysOf({ status: { current, superseded } }: ApiKeySnapshot) {
  const isListed = superseded.some(({ keyId }) => keyId === current?.keyId);
  return current === undefined || isListed
    ? superseded
    : [...superseded, { ...current, state: "Live" as const, answeredCall: undefined }];
}

/** Allows removal of the finalizer. The event names the keys that stay valid in the console. */
function release(snapshot: ApiKeySnapshot, at: ClockReading): Released {
  const ids = liveKeyIds(snapshot, certainTime(at));
  const note = `Keys that stay valid until they expire: ${ids.join(", ")}.`;
  const event = toEvent("KeysNotRevoked", "Delete", note);
  return { kind: "Released", events: ids.length === 0 ? [] : [event] };
}

function liveKeyIds(snapshot: ApiKeySnapshot, now: Instant): readonly string[] {
  const { superseded, orphaned } = snapshot.status;
  const ended = superseded.filter((key) => !mayWork(key)).map(({ keyId }) => keyId);
  const alive = [
    ...keysOf(snapshot).filter(mayWork),
    ...orphaned.filter(({ keyId }) => keyId === undefined || !ended.includes(keyId)),
  ].filter((key) => now < key.expirationTime && !isOfGoneAccount(key, snapshot));
  return [...new Set(alive.map(({ keyId }) => keyId ?? "a key of unknown id"))];
}
