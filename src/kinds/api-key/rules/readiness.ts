/** Whether consumers have a working pair, and what blocks any other work. Pure. */
import type { ApiKeySpec } from "../../../api/api-key.ts";
import type { Readiness } from "../../../api/conditions.ts";
import { isHandledRotation } from "../../../api/handled-rotations.ts";
import { annotations } from "../../../api/meta.ts";
import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import { obstacleOf } from "../../../reconciler/rules/obstacle.ts";
import { firstFinding, type Outcome } from "../../../reconciler/rules/outcome.ts";
import { certainTime } from "../../../util/agreed-time.ts";
import { DAY, HOUR, toIso8601 } from "../../../util/time.ts";
import { truncateList } from "../../../util/truncate-list.ts";
import { secretNameOf } from "../secret/owner.ts";
import { lostEntries } from "./content.ts";
import { describeRejection } from "./former-key.ts";
import { losses, rotationIsRequested } from "./needs.ts";
import { pairIsNotStored } from "./refused-pair.ts";
import { renewalTime, safetyLimit } from "./schedule.ts";
import type { ApiKeySnapshot } from "./snapshot.ts";
import type { CurrentKey } from "./status.ts";
import { endedAccount, isUsable } from "./usable.ts";

/** The reason of a key that expires soon and has no successor. */
export const EXPIRING_SOON = "ExpiringSoon";

export function readinessOf(
  snapshot: ApiKeySnapshot,
  outcome: Outcome,
  at: ClockReading,
): Readiness {
  const { now } = at;
  const { self, spec, status } = snapshot;
  const { current } = status;
  const obstacle = obstacleTo(snapshot, outcome) ?? endedAccount(snapshot);
  const lost = describeLost(snapshot, at);
  if (current === undefined || lost !== undefined || !isUsable(snapshot, certainTime(at)))
    return withLoss(obstacle, lossOf(snapshot, at) ?? lost);
  const held = `Key ${current.keyId} is in Secret ${secretNameOf(self.name, spec)} and valid until ${toIso8601(current.expirationTime)}.`;
  if (now >= safetyLimit(current) && now >= renewalTime(current, spec.rotation, self.uid, now))
    return {
      state: "Ready",
      reason: EXPIRING_SOON,
      message: `${held} It has not been renewed. ${obstacle?.message ?? ""}`.trim(),
    };
  const isAwaited =
    self.deletingSince === undefined &&
    (status.rotationPending || rotationIsRequested(snapshot) !== undefined);
  if (obstacle === undefined || outcome.kind === "Suspended") {
    const rotation = isAwaited && outcome.kind === "Suspended" ? ` ${ROTATION_SUSPENDED}` : "";
    const message = `${held}${outlasting(current, spec)}${rotation}${repeatedRequest(snapshot)}`;
    return { state: "Ready", reason: "KeyDelivered", message };
  }
  const rotation = isAwaited ? ` ${ROTATION_AWAITED}` : "";
  const message = `${held} ${obstacle.message}${rotation}`;
  return { state: "Ready", reason: obstacle.reason, message };
}

const NO_PAIR = "Workloads find no valid key pair.";

const PENDING: Readiness = {
  state: "Reconciling",
  reason: "Pending",
  message: "The key is not in its Secret yet.",
};

/** Why workloads may find no valid key pair. */
interface Loss {
  readonly text: string;
  /** Whether it is shown that they find none. */
  readonly isShown: boolean;
}

/** Says first what workloads have lost, and why. */
function withLoss(obstacle: Readiness | undefined, loss: Loss | undefined): Readiness {
  if (loss === undefined) return obstacle ?? PENDING;
  const { text, isShown } = loss;
  const { state, reason, message } = obstacle ?? { ...PENDING, message: text };
  const isSaid = message.startsWith(text.slice(0, -1));
  const parts = [isShown && NO_PAIR, !isSaid && text, message];
  return { state, reason, message: parts.filter((part) => part !== false).join(" ") };
}

/** Such a Secret can hold a valid pair that the operator cannot prove. */
const UNPROVEN: ReadonlySet<string> = new Set(["SecretReplaced", "SecretEdited"]);

/** What a read has shown of the delivered pair that may keep workloads from using it. */
function lossOf(snapshot: ApiKeySnapshot, at: ClockReading): Loss | undefined {
  const { self, status } = snapshot;
  if (status.current === undefined || self.deletingSince !== undefined) return undefined;
  const found = firstFinding(losses, snapshot, at);
  const text = found?.message ?? describeRejection(snapshot);
  return text === undefined ? undefined : { text, isShown: !UNPROVEN.has(found?.reason ?? "") };
}

/** Workloads may read other entries than those. */
function describeLost(snapshot: ApiKeySnapshot, at: ClockReading): Loss | undefined {
  const { self, spec } = snapshot;
  const entries = lostEntries(snapshot, certainTime(at));
  if (self.deletingSince !== undefined || entries.length === 0) return undefined;
  const named = `${entries.length === 1 ? "entry" : "entries"} ${truncateList(entries, 10)}`;
  const text = `Secret ${secretNameOf(self.name, spec)} differs from what the operator wrote: workloads might not find ${named}.`;
  return { text, isShown: false };
}

/** Says how to replace a key that was issued for more days than the spec has now. */
function outlasting(
  { issueTime, expirationTime }: CurrentKey,
  { expiresInDays }: ApiKeySpec,
): string {
  // Corrected times can differ from whole days.
  return expirationTime - issueTime <= expiresInDays * DAY + HOUR
    ? ""
    : ` It was issued before spec.expiresInDays became ${expiresInDays}, which applies to the next key. To replace this key now, run kubectl iam rotate, or set the annotation ${annotations.rotateRequestedAt}.`;
}

/** Says why a value that was set once more, by a person or by GitOps, rotates nothing. */
function repeatedRequest({ self, status }: ApiKeySnapshot): string {
  const { rotateToken } = self;
  const isRepeated =
    rotateToken !== undefined &&
    rotateToken !== status.lastHandledRotateAt &&
    isHandledRotation(status, rotateToken);
  return isRepeated
    ? ` The value of the annotation ${annotations.rotateRequestedAt} was handled before: it requests no rotation.`
    : "";
}

const ROTATION_SUSPENDED = "The requested rotation waits at least until spec.suspend is false.";
const ROTATION_AWAITED = "The requested rotation waits for this.";

function obstacleTo(snapshot: ApiKeySnapshot, outcome: Outcome): Readiness | undefined {
  const { self } = snapshot;
  if (outcome.kind === "Failed") return pairIsNotStored(snapshot, outcome) ?? outcome.readiness;
  if (outcome.kind !== "Settled" || self.deletingSince === undefined) return obstacleOf(outcome);
  return { state: "Reconciling", reason: "Deleting", message: "The ApiKey is being deleted." };
}
