/** Maintenance of the key in use, even while its successor waits. Pure. */
import { IamError } from "../../../console/errors.ts";
import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import { firstFinding } from "../../../reconciler/rules/outcome.ts";
import { certainTime } from "../../../util/agreed-time.ts";
import type { Instant } from "../../../util/time.ts";
import type { KeyAccount } from "../secret/pair.ts";
import type { SecretContents } from "../secret/render.ts";
import { pairIn } from "../secret/view.ts";
import type { Timing } from "../timing.ts";
import { accountInUse, accountOf } from "./accounts.ts";
import { secretIsImmutable } from "./blocks.ts";
import { isConverged } from "./consumers.ts";
import { needs } from "./needs.ts";
import { isNotKept } from "./not-kept.ts";
import { isRehearsalDue } from "./rehearsal.ts";
import { isDelivered, isStillDeclared, renderingOf } from "./rendering.ts";
import { overlapEnd } from "./schedule.ts";
import type { ApiKeySnapshot, ReadyAccount } from "./snapshot.ts";
import type { SupersededKey } from "./status.ts";
import { isCheckDue } from "./verification.ts";

/** Whether an unchanged Secret must be read: only if there is something to do with it. */
export function isTargetNeeded(
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  timing: Timing,
): boolean {
  if (snapshot.target.kind !== "Unread") return false;
  const isAtRest =
    firstFinding(needs, snapshot, at, timing) === undefined &&
    snapshot.keysBeforeRestore.length === 0 &&
    !isCheckDue(snapshot, at, timing) &&
    !isRehearsalDue(snapshot, at) &&
    keyToRetire(snapshot, at) === undefined &&
    isStillDeclared(snapshot, certainTime(at));
  return !isAtRest;
}

/** The declared content of the Secret, if it is to be restored: after an edit, a change of the template, or the end of an overlap. */
export function contentToRestore(
  snapshot: ApiKeySnapshot,
  at: ClockReading,
): SecretContents | undefined {
  const rendering = renderingOf(snapshot, certainTime(at));
  if (rendering === undefined || rendering.isInPlace) return undefined;
  if (isNotKept(snapshot, rendering) || secretIsImmutable(snapshot) !== undefined) return undefined;
  const { pair, previous } = rendering;
  return { pair, previous };
}

/** A key to be ended, and the call for it. */
export interface KeyToEnd {
  readonly call: "disableKey" | "deleteKey";
  readonly keyId: string;
}

/**
 * The superseded key to be revoked next: after its overlap, if the connection defines the calls for it. The console must
 * accept the key in use just before: a superseded key may be the only working key.
 */
export function keyToRetire(snapshot: ApiKeySnapshot, at: ClockReading): KeyToEnd | undefined {
  const now = certainTime(at);
  const { spec, status } = snapshot;
  if (accountInUse(snapshot).kind !== "Ready") return undefined;
  if (status.current?.verificationTime === undefined) return undefined;
  if (!isDelivered(snapshot)) return undefined;
  const converged = isConverged(snapshot);
  // The console may have issued a superseded key again.
  const pending = snapshot.held?.pair ?? pairIn(snapshot.pending);
  const due = status.superseded
    .filter(({ keyId }) => keyId !== pending?.keyId)
    .filter((key) => now >= overlapEnd(key, spec.rotation, converged));
  return keyToEnd(due, snapshot, now);
}

/** Why no key is revoked for a successor that the console has only let in. */
export function onlyLetIn(keyId: string, { keyId: ended }: KeyToEnd): IamError {
  const message = `searchActions: the answer to a try of key ${keyId} may come from a gateway, so it does not show that the key works; the key before it, ${ended}, is not ended`;
  return new IamError("MalformedResponse", message, { operation: "searchActions" });
}

type EndableKey = KeyAccount &
  Pick<SupersededKey, "keyId" | "state" | "answeredCall" | "expirationTime">;

/**
 * The first key that can be revoked and has not expired, if its account is ready. A live key is disabled before it is
 * deleted. A key that was disabled outside the operator is deleted too, because it could be enabled again. An answered
 * call is not repeated before a list shows the key as valid. A call that has failed is not repeated in the same run.
 */
export function keyToEnd(
  keys: readonly EndableKey[],
  snapshot: ApiKeySnapshot,
  now: Instant,
): KeyToEnd | undefined {
  for (const key of keys) {
    const { keyId, expirationTime } = key;
    const account = accountOf(key, snapshot);
    const call = account.kind === "Ready" ? endingCall(key, account) : undefined;
    const hasFailed = snapshot.failedRevocations?.has(keyId) === true;
    if (call !== undefined && !hasFailed && now < expirationTime) return { call, keyId };
  }
  return undefined;
}

function endingCall(
  { state, answeredCall }: Pick<SupersededKey, "state" | "answeredCall">,
  { canDisableKeys, canDeleteKeys }: ReadyAccount,
): KeyToEnd["call"] | undefined {
  if (state === "Deleted" || state === "Expired") return undefined;
  if (state === "Live" && canDisableKeys) return "disableKey";
  return canDeleteKeys && answeredCall !== "deleteKey" ? "deleteKey" : undefined;
}
