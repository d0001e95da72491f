/** Why a new key is needed. Pure. */
import { isHandledRotation } from "../../../api/handled-rotations.ts";
import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import { certainTime } from "../../../util/agreed-time.ts";
import { toIso8601 } from "../../../util/time.ts";
import { secretNameOf } from "../secret/owner.ts";
import type { IssuedPair } from "../secret/pair.ts";
import type { Timing } from "../timing.ts";
import { isMoving } from "./accounts.ts";
import { isRenewalDue, renewalTime, welcomeTime } from "./schedule.ts";
import type { ApiKeySnapshot, KeyNeed } from "./snapshot.ts";
import type { KeyStatus } from "./status.ts";
import { replacedInMs } from "./verification.ts";

/** The reason of a key that a person asked for by annotation. */
export const ROTATION_REQUESTED = "RotationRequested";

type NeedRule = (snapshot: ApiKeySnapshot, at: ClockReading, timing: Timing) => KeyNeed | undefined;

/** In order: users see the reason of the first finding. */
export const needs: readonly NeedRule[] = [
  rotationIsRequested,
  noKeyYet,
  secretIsMissing,
  secretIsReplaced,
  secretIsBroken,
  keyIsRefused,
  keyHasExpired,
  accountHasChanged,
  rotationIsDue,
  rotationIsPending,
];

/** Why the Secret does not hold the pair that was delivered, as far as a read has shown. */
export const lostPairs = [secretIsMissing, secretIsReplaced, secretIsBroken] as const;

/** Why workloads find no key pair that is known to be valid, although one was delivered. */
export const losses = [...lostPairs, keyHasExpired] as const;

/** Why a key that works is to be replaced. */
export const rotations = [rotationIsRequested, rotationIsDue, rotationIsPending] as const;

/** Whether a user requests a rotation with a token that is not handled yet. */
export function rotationIsRequested({ self, status }: ApiKeySnapshot): KeyNeed | undefined {
  if (self.rotateToken === undefined || isHandledRotation(status, self.rotateToken))
    return undefined;
  return { reason: ROTATION_REQUESTED, message: "A rotation was requested by annotation." };
}

function noKeyYet({ status, target }: ApiKeySnapshot): KeyNeed | undefined {
  if (status.current !== undefined || (target.kind === "Ours" && target.pair !== undefined))
    return undefined;
  return { reason: "NoKeyYet", message: "No key has been issued yet." };
}

function secretIsMissing({ self, spec, target }: ApiKeySnapshot): KeyNeed | undefined {
  if (target.kind !== "Absent") return undefined;
  return {
    reason: "SecretMissing",
    message: `Secret ${secretNameOf(self.name, spec)} is gone, and with it the only copy of the key's secret.`,
  };
}

function secretIsReplaced({ self, spec, target }: ApiKeySnapshot): KeyNeed | undefined {
  if (target.kind !== "Foreign") return undefined;
  return {
    reason: "SecretReplaced",
    message: `Secret ${secretNameOf(self.name, spec)} was replaced by a Secret that is not this ApiKey's: ${target.why}.`,
  };
}

function secretIsBroken({ self, spec, status, target }: ApiKeySnapshot): KeyNeed | undefined {
  if (target.kind !== "Ours") return undefined;
  const { pair } = target;
  if (pair !== undefined && !isOutdated(pair, status)) return undefined;
  return {
    reason: "SecretEdited",
    message: `Secret ${secretNameOf(self.name, spec)} was edited, and what is left does not prove that it holds the key pair.`,
  };
}

/** Whether the pair is older than the pair in the status: an old Secret was restored. */
export function isOutdated(pair: IssuedPair, { current, superseded }: KeyStatus): boolean {
  if (superseded.some(({ keyId }) => keyId === pair.keyId)) return true;
  return current !== undefined && current.keyId !== pair.keyId && pair.revision < current.revision;
}

function keyIsRefused(
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  timing: Timing,
): KeyNeed | undefined {
  const leftMs = replacedInMs(snapshot, at, timing);
  if (leftMs === undefined || leftMs > 0) return undefined;
  return {
    reason: "KeyRefused",
    message: `The console no longer accepts key ${snapshot.status.current?.keyId}.`,
  };
}

function keyHasExpired(
  { status: { current } }: ApiKeySnapshot,
  at: ClockReading,
): KeyNeed | undefined {
  if (current === undefined || certainTime(at) < current.expirationTime) return undefined;
  return {
    reason: "KeyExpired",
    message: `Key ${current.keyId} expired at ${toIso8601(current.expirationTime)}.`,
  };
}

/** Not urgent, so that it waits for a window. */
function accountHasChanged(snapshot: ApiKeySnapshot, at: ClockReading): KeyNeed | undefined {
  const { spec, status } = snapshot;
  const { current } = status;
  if (current === undefined || !isMoving(snapshot)) return undefined;
  if (welcomeTime(current, spec.rotation, at.now) > at.now) return undefined;
  return {
    reason: "AccountChanged",
    message: `spec.serviceAccountRef names ServiceAccount ${spec.serviceAccountRef.name}, and key ${current.keyId} belongs to ServiceAccount ${current.serviceAccount}.`,
  };
}

function rotationIsDue(
  { self, spec, status: { current } }: ApiKeySnapshot,
  at: ClockReading,
): KeyNeed | undefined {
  if (current === undefined) return undefined;
  const due = renewalTime(current, spec.rotation, self.uid, at.now);
  if (!isRenewalDue(current, due, at)) return undefined;
  return { reason: "RotationDue", message: `Rotation was due at ${toIso8601(due)}.` };
}

function rotationIsPending({ status }: ApiKeySnapshot): KeyNeed | undefined {
  if (!status.rotationPending) return undefined;
  return { reason: "RotationInterrupted", message: "A requested rotation was interrupted." };
}

/** Whether a failed attempt for this reason leaves a user's request open. */
export function isRequested(reason: string | undefined): boolean {
  return reason === ROTATION_REQUESTED || reason === "RotationInterrupted";
}
