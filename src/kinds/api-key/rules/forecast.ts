/** Whether the next key can be issued, by the rules that issue it, and what the condition says about that. Pure. */
import { findCondition } from "../../../api/conditions.ts";
import { ISSUANCE_ALLOWED, OUTSIDE_WINDOWS, SECRET_IMMUTABLE } from "../../../api/issuance.ts";
import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import { firstFinding, type Outcome } from "../../../reconciler/rules/outcome.ts";
import { ONLY_PLANS, PLAN_ONLY } from "../../../reconciler/rules/plan-only.ts";
import type { KindCondition } from "../../../reconciler/rules/report.ts";
import { type Instant, toIso8601 } from "../../../util/time.ts";
import type { Timing } from "../timing.ts";
import { isMoving } from "./accounts.ts";
import { lastingBlocks, limits, secretBlocks } from "./blocks.ts";
import { rotations } from "./needs.ts";
import { pairIsNotStored } from "./refused-pair.ts";
import { isRefuted } from "./refuted.ts";
import { isStillToRehearse, stopInRehearsal } from "./rehearsal.ts";
import { nextWindow, renewalTime } from "./schedule.ts";
import type { ApiKeySnapshot, KeyNeed } from "./snapshot.ts";
import { isRejected, replacedInMs } from "./verification.ts";

/** The need that the forecast is about. */
const NEXT_KEY: KeyNeed = { reason: "RotationDue", message: "The key is to be renewed." };

/**
 * The condition that says whether the next key can be issued when it is due. A block that ends with time does not
 * count before a key is needed, unless it is known to last beyond the renewal. Absent while the object is being deleted;
 * unchanged if the run shows nothing about it.
 */
export function issuanceAllowed(
  snapshot: ApiKeySnapshot,
  outcome: Outcome,
  at: ClockReading,
  timing: Timing,
): KindCondition | undefined {
  const type = ISSUANCE_ALLOWED;
  if (snapshot.self.deletingSince !== undefined) return { type };
  const stop = stopOfNextKey(snapshot, outcome, at, timing);
  if (stop === UNKNOWN && !isRefuted(reportedReason(snapshot), snapshot)) return undefined;
  if (stop !== UNKNOWN && stop !== undefined) return notAllowed(withRotation(stop, snapshot, at));
  const window = outsideWindows(snapshot, at);
  const message = "Nothing that would stop the next key is known.";
  return { type, status: "True", ...(window ?? { reason: "Allowed", message }) };
}

/** Says when the key is renewed while no window is open. Absent if it is replaced earlier, or the renewal is overdue. */
function outsideWindows(snapshot: ApiKeySnapshot, { now }: ClockReading): KeyNeed | undefined {
  if (isMoving(snapshot)) return undefined;
  const { self, spec, status } = snapshot;
  const { rotation } = spec;
  const due = status.current && renewalTime(status.current, rotation, self.uid, now);
  if (rotation.windows.length === 0 || due === undefined || due <= now) return undefined;
  const opening = nextWindow(rotation, due);
  if (opening !== undefined && opening <= due) return undefined;
  const why =
    opening === undefined
      ? "no window opens any more"
      : `the next window opens at ${toIso8601(opening)}, too close to the expiry`;
  const message = `The key is renewed at ${toIso8601(due)}, outside the windows: ${why}.`;
  return { reason: OUTSIDE_WINDOWS, message };
}

/** The stop, and the rotation that waits for its end, if there is one. */
function withRotation(
  { reason, message }: KeyNeed,
  snapshot: ApiKeySnapshot,
  at: ClockReading,
): KeyNeed {
  const rotation = firstFinding(rotations, snapshot, at);
  const isSaid = rotation === undefined || message.startsWith(rotation.message);
  if (isSaid || snapshot.status.current === undefined) return { reason, message };
  return { reason, message: `${rotation.message} The next key waits: ${message}` };
}

/** The condition of an object whose next key cannot be issued. */
export function notAllowed({ reason, message }: KeyNeed): KindCondition {
  return { type: ISSUANCE_ALLOWED, status: "False", reason, message };
}

const UNKNOWN = "Unknown";

function stopOfNextKey(
  snapshot: ApiKeySnapshot,
  outcome: Outcome,
  at: ClockReading,
  timing: Timing,
): KeyNeed | typeof UNKNOWN | undefined {
  if (snapshot.isPlanned) return PLANNED;
  const rehearsed = stopInRehearsal(snapshot);
  const ofSecret = () => firstFinding(secretBlocks, snapshot, at, NEXT_KEY);
  // A failed run proves nothing else.
  if (outcome.kind === "Failed")
    return pairIsNotStored(snapshot, outcome) ?? ofSecret() ?? rehearsed ?? UNKNOWN;
  if (outcome.kind === "Waiting" && outcome.condition === ISSUANCE_ALLOWED) return outcome;
  if (outcome.kind === "Suspended") return SUSPENDED;
  const block = firstFinding(lastingBlocks, snapshot, at, NEXT_KEY);
  // The connection has not logged in yet, as after each start of the process, or its console does not respond.
  if (block?.reason === "ConnectionNotReady" && block.state === "Reconciling")
    return ofSecret() ?? UNKNOWN;
  return (
    block ?? rehearsed ?? (isStillUnknown(snapshot) ? UNKNOWN : limitWhenDue(snapshot, at, timing))
  );
}

/** The limits as they are when the next key is due, unless other keys are issued for the namespace first. */
function limitWhenDue(
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  timing: Timing,
): KeyNeed | undefined {
  const due = dueTime(snapshot, at, timing);
  if (due === undefined || due <= at.now) return undefined;
  const { monotonic, fraction } = at;
  const message = isRejected(snapshot)
    ? "The console rejects the key."
    : `The key is to be renewed at ${toIso8601(due)}.`;
  const because = { ...NEXT_KEY, message };
  return firstFinding(limits, snapshot, { now: due, monotonic, fraction }, because);
}

/** A key that the console rejects is replaced soon, any other key at its renewal. */
function dueTime(snapshot: ApiKeySnapshot, at: ClockReading, timing: Timing): Instant | undefined {
  const { self, spec, status } = snapshot;
  if (status.current === undefined) return undefined;
  const replacedMs = replacedInMs(snapshot, at, timing);
  return replacedMs === undefined
    ? renewalTime(status.current, spec.rotation, self.uid, at.now)
    : at.now + replacedMs;
}

const SUSPENDED: KeyNeed = {
  reason: "Suspended",
  message: "spec.suspend is true: the key is not renewed until it is false.",
};

const PLANNED: KeyNeed = {
  reason: PLAN_ONLY,
  message: `${ONLY_PLANS}: the key is not renewed.`,
};

/** Only a read of the whole Secret shows whether it is immutable, and only a rehearsal what the API server accepts. */
function isStillUnknown(snapshot: ApiKeySnapshot): boolean {
  const isUnread =
    snapshot.target.kind === "Unread" && reportedReason(snapshot) === SECRET_IMMUTABLE;
  return isUnread || isStillToRehearse(snapshot);
}

function reportedReason({ object }: ApiKeySnapshot): string {
  return findCondition(object.status?.conditions, ISSUANCE_ALLOWED)?.reason ?? "";
}
