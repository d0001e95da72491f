/** A requested rotation that is not complete. */
import { accountInUse } from "../../api/account-in-use.ts";
import type { ApiKey } from "../../api/api-key.ts";
import { isHandledRotation } from "../../api/handled-rotations.ts";
import { annotations } from "../../api/meta.ts";
import { isBeingDeleted } from "../../util/object-meta.ts";
import { type Instant, parseInstant, toIso8601 } from "../../util/time.ts";
import { causeOfDelay } from "./chain.ts";
import type { Cluster } from "./cluster.ts";
import type { AnyObject } from "./kinds.ts";
import type { Missing } from "./wait.ts";
import { whyDelayed } from "./why-delayed.ts";

interface PendingRotation {
  /** ` at 2026-11-24T09:00:00Z`; empty if the annotation is not a time. */
  readonly text: string;
  readonly time: Instant | undefined;
}

/** `spec.rotation.windows`, a text for each. Pure. */
export function windowTexts({ spec }: ApiKey): readonly string[] {
  return (spec.rotation?.windows ?? []).map(
    ({ schedule, timeZone = "UTC", duration }) => `${schedule} ${timeZone}, for ${duration}`,
  );
}

/** No key is issued for an ApiKey that is being deleted. Pure. */
export function pendingRotation(apiKey: ApiKey): PendingRotation | undefined {
  if (isBeingDeleted(apiKey)) return undefined;
  const { metadata, status } = apiKey;
  const token = metadata.annotations?.[annotations.rotateRequestedAt];
  const isNew = token !== undefined && !isHandledRotation(status ?? {}, token);
  if (!isNew && status?.rotationPending !== true) return undefined;
  const time = parseInstant(token);
  return { text: time === undefined ? "" : ` at ${toIso8601(time)}`, time };
}

/** Follows `the`: `undefined` unless the next key is of another account. Pure. */
export function movingKeyText(apiKey: Parameters<typeof accountInUse>[0]): string | undefined {
  const name = apiKey.spec?.serviceAccountRef?.name;
  return name === undefined || accountInUse(apiKey) === name
    ? undefined
    : `next key is of iamsa/${name}, and is issued without waiting for the renewal.`;
}

/** How far the next key has come, as the status has it. Pure. */
export function progressOf({ status }: ApiKey): string {
  const { pending } = status ?? {};
  return pending === undefined
    ? "no new key is reported yet"
    : `the new key ${pending.keyId} is not in its Secret yet`;
}

/**
 * The patch that requests a rotation. An ApiKey whose report would end the wait is also asked to report again, because
 * that report is older than the request. Pure.
 */
export function rotationRequest(apiKey: ApiKey, token: string): object {
  const endsWait = whyDelayed({ object: apiKey as AnyObject })?.isFinal === true;
  const report = endsWait ? { [annotations.reconcileRequestedAt]: token } : {};
  return { metadata: { annotations: { [annotations.rotateRequestedAt]: token, ...report } } };
}

/**
 * What a requested rotation still waits for: the operator, the key, the Secret, the Pods. A request counts as handled
 * when its attempt is recorded, so the rotation is complete only when the current key is not `before`. A status names a
 * key only when its Secret holds it. Rejects with KubeError.
 */
export async function rotationMissing(
  cluster: Cluster,
  apiKey: ApiKey,
  before?: string,
): Promise<Missing | undefined> {
  const { consumers, attempt, current } = apiKey.status ?? {};
  const isPending =
    pendingRotation(apiKey) !== undefined ||
    attempt !== undefined ||
    (before !== undefined && current?.keyId === before);
  if (isPending) {
    const cause = await causeOfDelay(cluster, apiKey as AnyObject);
    return { ...cause, text: `${progressOf(apiKey)}: ${cause.text}` };
  }
  if (consumers !== undefined && consumers.stale > 0)
    return { text: `${consumers.stale} of ${consumers.pods} Pods use an older key` };
  return undefined;
}
