/** Maintenance of the key in use, even while its successor waits. Pure. */
import { IamError } from "../../../console/errors.ts";
import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import { firstFinding } from "../../../reconciler/rules/outcome.ts";
import { certainTime } from "../../../util/agreed-time.ts";
import type { Instant } from "../../../util/time.ts";
import type { KeyAccount } from "../secret/pair.ts";
import { pairIn } from "../secret/view.ts";
import type { Timing } from "../timing.ts";
import { accountInUse, accountOf } from "./accounts.ts";
import { isConverged } from "./consumers.ts";
import { needs } from "./needs.ts";
import { isNotKept } from "./not-kept.ts";
import { isRehearsalDue } from "./rehearsal.ts";
import { isDelivered, isStillDeclared, renderingOf } from "./rendering.ts";
import { overlapEnd } from "./schedule.ts";
import type {
  ActionOf,
  ApiKeyProgress,
  ApiKeySnapshot,
  ApiKeyStep,
  ReadyAccount,
} from "./snapshot.ts";
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
    !isRehearsalDue(snapshot, at) &&
    dueRetirement(progress, at) === undefined &&
    isStillDeclared(snapshot, certainTime(at));
  return isAtRest ? undefined : { kind: "ReadTarget" };
}

/** Restores the declared content of the Secret: after an edit, a change of the template, or the end of an overlap. */
export function renderSecret(progress: ApiKeyProgress, at: ClockReading): ApiKeyStep | undefined {
  const rendering = renderingOf(progress.snapshot, certainTime(at));
  if (rendering === undefined || rendering.isInPlace) return undefined;
  if (isNotKept(progress, rendering)) return undefined;
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
  const { keyId } = status.current;
  const { verdicts, letIn } = progress.done;
  const isAccepted = verdicts?.get(keyId);
  if (isAccepted === undefined) return { kind: "VerifyPair", pair };
  if (!isAccepted) return undefined;
  return letIn?.has(keyId) === true ? { kind: "Failing", error: onlyLetIn(keyId, step) } : step;
}

function onlyLetIn(
  keyId: string,
  { keyId: ended }: ActionOf<"DisableKey" | "DeleteKey">,
): IamError {
  const message = `searchActions: the answer to a try of key ${keyId} may come from a gateway, so it does not show that the key works; the key before it, ${ended}, is not ended`;
  return new IamError("MalformedResponse", message, { operation: "searchActions" });
}

function dueRetirement(
  { snapshot, done }: ApiKeyProgress,
  at: ClockReading,
): ActionOf<"DisableKey" | "DeleteKey"> | undefined {
  const now = certainTime(at);
  const { spec, status } = snapshot;
  if (accountInUse(snapshot).kind !== "Ready") return undefined;
  if (status.current?.verificationTime === undefined) return undefined;
  if (!isDelivered(snapshot)) return undefined;
  const converged = isConverged(snapshot);
  // The console may have issued a superseded key again.
  const pending = snapshot.held?.pair ?? pairIn(snapshot.staging);
  const due = status.superseded
    .filter(({ keyId }) => keyId !== pending?.keyId)
    .filter((key) => now >= overlapEnd(key, spec.rotation, converged));
  return endFirst(due, snapshot, done.failedRevocations, now);
}

type EndableKey = KeyAccount &
  Pick<SupersededKey, "keyId" | "state" | "answeredCall" | "expirationTime">;

/**
 * Revokes the first key that can be revoked and has not expired, if its account is ready. A live key is disabled before it is deleted. A key
 * that was disabled outside the operator is deleted too, because it could be enabled again. An answered call is not
 * repeated before a list shows the key as valid.
 */
export function endFirst(
  keys: readonly EndableKey[],
  snapshot: ApiKeySnapshot,
  failed: ReadonlyMap<string, unknown> | undefined,
  now: Instant,
): ActionOf<"DisableKey" | "DeleteKey"> | undefined {
  for (const key of keys) {
    const { keyId, expirationTime } = key;
    const account = accountOf(key, snapshot);
    const kind = account.kind === "Ready" ? endingCall(key, account) : undefined;
    if (kind !== undefined && failed?.has(keyId) !== true && now < expirationTime)
      return { kind, keyId };
  }
  return undefined;
}

function endingCall(
  { state, answeredCall }: Pick<SupersededKey, "state" | "answeredCall">,
  { canDisableKeys, canDeleteKeys }: ReadyAccount,
): "DisableKey" | "DeleteKey" | undefined {
  if (state === "Deleted" || state === "Expired") return undefined;
  if (state === "Live" && canDisableKeys) return "DisableKey";
  return canDeleteKeys && answeredCall !== "deleteKey" ? "DeleteKey" : undefined;
}
