/** Other ApiKeys of the same account: what they answer for, and what of theirs is open. */
import type { ApiKey, ApiKeySpec } from "../../api/api-key.ts";
import { type KubeObject, keyText } from "../../kube/resource.ts";
import { HOUR, type Instant, parseInstant } from "../../util/time.ts";
import type { Context } from "../frame/context.ts";
import { indexes } from "../indexes.ts";
import { isAttemptOf } from "../marker.ts";
import { apiKeyType, serviceAccountType } from "../resource-types.ts";
import { type AttemptRegistry, accountKeyOf } from "./attempts.ts";
import type { LateKey, PeerKeys } from "./rules/snapshot.ts";
import { listedKeyIds } from "./rules/status.ts";

const PEER_PATIENCE_MS = HOUR;

/**
 * A peer whose attempt is not explained yet: waiting for it keeps the account's list of keys readable. One under way is no
 * obstacle, and a held-up one not for ever.
 */
export function unsettledPeerOf(
  object: ApiKey,
  spec: ApiKeySpec,
  context: Pick<Context, "caches" | "clock">,
  attempts: AttemptRegistry,
): string | undefined {
  const now = context.clock.now();
  return peersOf(object, spec, context, indexes.openAttempt).find(
    (peer) => peer.spec.suspend !== true && openAttemptOf(peer, now, attempts) !== undefined,
  )?.metadata.name;
}

/**
 * What the account's other ApiKeys answer for. To be asked after the account's keys were read: a key that came of an
 * attempt of theirs before that is then either named, or makes the answer inconclusive.
 */
export function peerKeysOf(
  object: ApiKey,
  spec: ApiKeySpec,
  context: Pick<Context, "caches" | "clock">,
  attempts: AttemptRegistry,
): PeerKeys {
  const now = context.clock.now();
  const account = accountKeyOf(object);
  const peers = peersOf(object, spec, context);
  // A peer that has not been reconciled yet may have its pair in a Secret.
  const isUnread = peers.some((peer) => {
    const id = openAttemptOf(peer, now, attempts);
    return id !== undefined && !attempts.isOpen(id, "Unexplained");
  });
  return {
    isConclusive: !attempts.isBusy(account) && !isUnread && !peers.some(lacksStatus),
    known: [...attempts.keyIdsOf(account), ...peers.flatMap(({ status }) => listedKeyIds(status))],
    surplus: attempts.surplusOf(account),
    inUse: peers.flatMap((peer) => keyInUseOf(peer, now)),
  };
}

/**
 * Keys that the account reports as unmanaged and that this very object issued, by their descriptions. Descriptions can be
 * forged: such a key is only listed, and never revoked.
 */
export function lateKeysOf(
  { metadata: { namespace = "", name, uid }, status }: ApiKey,
  { serviceAccountRef }: ApiKeySpec,
  { caches }: Pick<Context, "caches">,
): readonly LateKey[] {
  const account = caches.of(serviceAccountType).get({ namespace, name: serviceAccountRef.name });
  const unmanaged = account?.status?.unmanagedKeys ?? [];
  if (unmanaged.length === 0) return [];
  const listed = new Set(listedKeyIds(status));
  return unmanaged.flatMap(({ keyId, apiKey, attemptId = "" }) =>
    apiKey === name && isAttemptOf(uid, attemptId) && !listed.has(keyId)
      ? [{ keyId, attemptId }]
      : [],
  );
}

function peersOf(
  { metadata: { namespace = "", uid } }: ApiKey,
  { serviceAccountRef }: ApiKeySpec,
  { caches }: Pick<Context, "caches">,
  index: "serviceAccount" | "openAttempt" = indexes.serviceAccount,
): readonly ApiKey[] {
  return caches
    .of(apiKeyType)
    .byIndex(index, keyText({ namespace, name: serviceAccountRef.name }))
    .filter((peer) => peer.metadata.uid !== uid);
}

/** A recorded attempt that may still have led to a key that nobody knows, and is not under way here. */
function openAttemptOf(
  { status }: ApiKey,
  now: Instant,
  attempts: AttemptRegistry,
): string | undefined {
  const { attempt } = status ?? {};
  if (attempt === undefined || attempts.isExplained(attempt.id)) return undefined;
  if (attempts.isOpen(attempt.id, "UnderWay")) return undefined;
  return now - (parseInstant(attempt.startTime) ?? 0) < PEER_PATIENCE_MS ? attempt.id : undefined;
}

/** Its keys are many, and the caches do not name them. */
function lacksStatus(peer: KubeObject): boolean {
  return peer.lacksStatus === true;
}

/** One that is being deleted may have ended its key already. */
function keyInUseOf({ metadata, status }: ApiKey, now: Instant): readonly string[] {
  const { current } = status ?? {};
  if (metadata.deletionTimestamp !== undefined || current?.verificationTime === undefined)
    return [];
  return now < (parseInstant(current.expirationTime) ?? 0) ? [current.keyId] : [];
}
