/** Other ApiKeys of the same account: their keys and their open attempts. */

import { accountKeysOf, attemptAccount } from "../../accounts/key-accounts.ts";
import { accountInUse } from "../../api/account-in-use.ts";
import type { ApiKey, ApiKeySpec } from "../../api/api-key.ts";
import type { ServiceAccountStatus } from "../../api/service-account.ts";
import { type KubeObject, keyText } from "../../kube/resource.ts";
import type { Context } from "../../reconciler/context.ts";
import { indexes } from "../../resources/indexes.ts";
import { isAttemptOf } from "../../resources/marker.ts";
import { apiKeyType, serviceAccountType } from "../../resources/resource-types.ts";
import { certainTime, readTime } from "../../util/agreed-time.ts";
import { HOUR, type Instant, parseInstant } from "../../util/time.ts";
import { type AttemptRegistry, accountKeyOf } from "./attempts.ts";
import type { LateKey, PeerKeys } from "./rules/snapshot.ts";
import { listedKeyIds } from "./rules/status.ts";
import type { KeyAccount } from "./secret/pair.ts";

const PEER_PATIENCE_MS = HOUR;

/**
 * Name of a peer whose attempt is not explained yet. Waiting for the peer keeps the account's list of keys unambiguous.
 * An attempt under way does not block, and a stuck attempt blocks for an hour at most.
 */
export function unsettledPeerOf(
  object: ApiKey,
  spec: ApiKeySpec,
  context: Pick<Context, "caches" | "clock">,
  attempts: AttemptRegistry,
): string | undefined {
  const now = context.clock.now();
  const { name } = spec.serviceAccountRef;
  return peersOf(object, name, context, indexes.openAttempt).find(
    (peer) => peer.spec.suspend !== true && openAttemptOf(peer, now, attempts) !== undefined,
  )?.metadata.name;
}

/**
 * Keys of the other ApiKeys of a key's account. Must be called after the account's keys were read: a key that a peer's attempt
 * issued before that read is then either in the result or makes the result inconclusive.
 */
export function peerKeysOf(
  object: ApiKey,
  key: KeyAccount,
  context: Pick<Context, "caches" | "clock">,
  attempts: AttemptRegistry,
): PeerKeys {
  const now = context.clock.now();
  const account = accountKeyOf(object, key);
  const name = key.serviceAccount ?? accountInUse(object);
  const peers = peersOf(object, name, context);
  // The pair of a peer that was not reconciled yet may be in a Secret.
  const isUnread = peers.some((peer) => {
    if (attemptAccount(peer) !== name) return false;
    const id = openAttemptOf(peer, now, attempts);
    return id !== undefined && !attempts.isOpen(id, "Unexplained");
  });
  return {
    isConclusive: !attempts.isBusy(account) && !isUnread && !peers.some(lacksStatus),
    known: [...attempts.keyIdsOf(account), ...peers.flatMap(({ status }) => listedKeyIds(status))],
    surplus: attempts.surplusOf(account),
    inUse: peers
      .filter((peer) => accountInUse(peer) === name)
      .flatMap((peer) => keyInUseOf(peer, certainTime(readTime(context.clock)))),
  };
}

/**
 * Keys that an account of the object reports as unmanaged and that this very object issued, according to their
 * descriptions. Descriptions can be forged: the operator only lists such a key and never revokes it.
 */
export function lateKeysOf(
  object: ApiKey,
  { caches }: Pick<Context, "caches">,
): readonly LateKey[] {
  return accountKeysOf(object).flatMap((key) => {
    const { status } = caches.of(serviceAccountType).get(key) ?? {};
    return lateKeysIn(object, key.name, status);
  });
}

function lateKeysIn(
  { metadata: { name, uid }, status }: ApiKey,
  serviceAccount: string,
  { saId, unmanagedKeys: unmanaged = [] }: ServiceAccountStatus = {},
): readonly LateKey[] {
  if (unmanaged.length === 0) return [];
  const listed = new Set(listedKeyIds(status));
  return unmanaged.flatMap(({ keyId, apiKey, attemptId = "" }) =>
    apiKey === name && isAttemptOf(uid, attemptId) && !listed.has(keyId)
      ? [{ keyId, attemptId, serviceAccount, saId }]
      : [],
  );
}

function peersOf(
  { metadata: { namespace = "", uid } }: ApiKey,
  name: string | undefined,
  { caches }: Pick<Context, "caches">,
  index: "serviceAccount" | "openAttempt" = indexes.serviceAccount,
): readonly ApiKey[] {
  if (name === undefined) return [];
  return caches
    .of(apiKeyType)
    .byIndex(index, keyText({ namespace, name }))
    .filter((peer) => peer.metadata.uid !== uid);
}

/**
 * ID of a recorded attempt that may have issued an unknown key and is not under way in this process. `undefined` after
 * an hour.
 */
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

/** The peer has so many keys that the caches do not hold them. */
function lacksStatus(peer: KubeObject): boolean {
  return peer.lacksStatus === true;
}

/** A peer that is being deleted may have revoked its key already. */
function keyInUseOf({ metadata, status }: ApiKey, now: Instant): readonly string[] {
  const { current } = status ?? {};
  if (metadata.deletionTimestamp !== undefined || current?.verificationTime === undefined)
    return [];
  return now < (parseInstant(current.expirationTime) ?? 0) ? [current.keyId] : [];
}
