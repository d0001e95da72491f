/** Maintenance of the key in use, even while its successor waits. Pure. */
import type { Instant } from "../../../util/time.ts";
import type { ClockReading } from "../../frame/clock-reading.ts";
import { firstFinding } from "../../frame/rules/outcome.ts";
import { pairIn } from "../secret/view.ts";
import type { Timing } from "../timing.ts";
import { isConverged } from "./consumers.ts";
import { needs } from "./needs.ts";
import { isDelivered, isStillDeclared, renderingOf } from "./rendering.ts";
import { overlapEnd } from "./schedule.ts";
import type { ActionOf, ApiKeyProgress, ApiKeyStep, ReadyAccount } from "./snapshot.ts";
import type { SupersededKey } from "./status.ts";
import { isCheckDue } from "./verification.ts";

/** Reads an unchanged Secret only if there is something to do with it. */
export function readTarget(
  progress: ApiKeyProgress,
  at: ClockReading,
  timing: Timing,
): ApiKeyStep | undefined {
  const { snapshot } = progress;
  if (snapshot.target.kind !== "Unread") return undefined;
  const isAtRest =
    firstFinding(needs, snapshot, at, timing) === undefined &&
    snapshot.keysBeforeRestore.length === 0 &&
    !isCheckDue(snapshot, at, timing) &&
    dueRetirement(progress, at) === undefined &&
    isStillDeclared(snapshot, at.now);
  return isAtRest ? undefined : { kind: "ReadTarget" };
}

/** Restores the declared content of the Secret: after an edit, a change of the template, or the end of an overlap. */
export function renderSecret(
  { snapshot }: ApiKeyProgress,
  { now }: ClockReading,
): ApiKeyStep | undefined {
  const rendering = renderingOf(snapshot, now);
  if (rendering === undefined || rendering.isInPlace) return undefined;
  const { pair, previous } = rendering;
  return { kind: "RenderSecret", pair, previous };
}

/**
 * Revokes superseded keys after the overlap, if the connection defines the calls for it. The console must accept the
 * key in use just before: a superseded key may be the only working key.
 */
export function retire(progress: ApiKeyProgress, at: ClockReading): ApiKeyStep | undefined {
  const step = dueRetirement(progress, at);
  const { status, target } = progress.snapshot;
  const pair = pairIn(target);
  if (step === undefined || status.current === undefined || pair === undefined) return undefined;
  const isAccepted = progress.done.verdicts?.get(status.current.keyId);
  if (isAccepted === undefined) return { kind: "VerifyPair", pair };
  return isAccepted ? step : undefined;
}

function dueRetirement(
  { snapshot, done }: ApiKeyProgress,
  { now }: ClockReading,
): ActionOf<"DisableKey" | "DeleteKey"> | undefined {
  const { spec, status, account } = snapshot;
  if (account.kind !== "Ready" || status.current?.verificationTime === undefined) return undefined;
  if (!isDelivered(snapshot)) return undefined;
  const converged = isConverged(snapshot);
  const due = status.superseded.filter((key) => now >= overlapEnd(key, spec.rotation, converged));
  return endFirst(due, account, done.failedRevocations, now);
}

/** Revokes the first key that can be revoked and has not expired. A live key is disabled before it is deleted. */
export function endFirst(
  keys: readonly Pick<SupersededKey, "keyId" | "state" | "expirationTime">[],
  { canDisableKeys, canDeleteKeys }: ReadyAccount,
  failed: ReadonlyMap<string, unknown> | undefined,
  now: Instant,
): ActionOf<"DisableKey" | "DeleteKey"> | undefined {
  const canEnd = (state: SupersededKey["state"]) =>
    state === "Live" ? canDisableKeys || canDeleteKeys : state === "Disabled" && canDeleteKeys;
  const key = keys.find(
    ({ keyId, state, expirationTime }) =>
      canEnd(state) && failed?.has(keyId) !== true && now < expirationTime,
  );
  if (key === undefined) return undefined;
  const { keyId } = key;
  return { kind: key.state === "Live" && canDisableKeys ? "DisableKey" : "DeleteKey", keyId };
}
