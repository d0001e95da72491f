/**
 * How an ApiKey goes. Pure, one effect per step; bounded in time even with the console down.
 *
 * Keys that nothing can end stay alive until they expire: the last event names them.
 */
import type { Instant } from "../../../util/time.ts";
import type { ClockReading } from "../../frame/clock-reading.ts";
import { firstFinding, type Released } from "../../frame/rules/outcome.ts";
import { pairIn } from "../secret/view.ts";
import type { Timing } from "../timing.ts";
import { noteStaged } from "./delivery.ts";
import { endFirst } from "./maintenance.ts";
import { failRun } from "./next.ts";
import { assumeLost, recoverAttempt } from "./recovery.ts";
import type { ApiKeyProgress, ApiKeySnapshot, ApiKeyStep } from "./snapshot.ts";
import { listedKeyIds } from "./status.ts";

/** The next effect, or why there is none; in the end, that the object may go. */
export function nextOfDeletion(
  progress: ApiKeyProgress,
  at: ClockReading,
  timing: Timing,
): ApiKeyStep | Released {
  const rules = [noteStaged, listUnlistedKeys, askConsole, deleteSecrets];
  return firstFinding(rules, progress, at, timing) ?? release(progress.snapshot, at);
}

/** A pair on its way has a key in the console, which must be named like the others. */
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
  const { self, spec, account } = snapshot;
  const patience = (self.deletingSince ?? at.now) + timing.deletionPatienceMs;
  const open = recoverAttempt(progress, at, timing);
  if (at.now >= patience) return open && assumeLost(snapshot, at);
  if (open !== undefined) return open;
  if (account.kind !== "Ready" || spec.secret.deletionPolicy === "Retain") return undefined;
  return endFirst(keysOf(snapshot), account, done.failedRevocations, at.now) ?? failRun(done);
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
 * Every key whose pair was kept; what has become of it. The one in use goes last: where the console's list lacks it although
 * it works, or although an earlier run has ended it already, the list says nothing about the others either.
 */
function keysOf({ status: { current, superseded } }: ApiKeySnapshot) {
  const isListed = superseded.some(({ keyId }) => keyId === current?.keyId);
  return current === undefined || isListed
    ? superseded
    : [...superseded, { ...current, state: "Live" as const }];
}

/** The object may go: names the keys that stay alive in the console. */
function release(snapshot: ApiKeySnapshot, { now }: ClockReading): Released {
  const ids = liveKeyIds(snapshot, now);
  const note = `Keys that stay valid until they expire: ${ids.join(", ")}.`;
  const event = { type: "Warning", reason: "KeysNotRevoked", action: "Delete", note } as const;
  return { kind: "Released", events: ids.length === 0 ? [] : [event] };
}

function liveKeyIds(snapshot: ApiKeySnapshot, now: Instant): readonly string[] {
  const { superseded, orphaned } = snapshot.status;
  const ended = superseded.filter(({ state }) => state !== "Live").map(({ keyId }) => keyId);
  const alive = [
    ...keysOf(snapshot).filter(({ state }) => state === "Live"),
    ...orphaned.filter(({ keyId }) => keyId === undefined || !ended.includes(keyId)),
  ].filter(({ expirationTime }) => now < expirationTime);
  return [...new Set(alive.map(({ keyId }) => keyId ?? "a key of unknown id"))];
}
