/**
 * Decides from the caches, before a key is issued, which of several ApiKeys with the same Secret name owns the Secret.
 */

import type { ApiKey } from "../../api/api-key.ts";
import { pendingSecretName, targetSecretName } from "../../api/secret-names.ts";
import { isCreatedEarlier, keyOf, keyText, type ObjectKey } from "../../kube/resource.ts";
import type { Caches } from "../../reconciler/context.ts";
import { indexes } from "../../resources/indexes.ts";
import { apiKeyType } from "../../resources/resource-types.ts";
import { isBeingDeleted } from "../../util/object-meta.ts";
import type { SecretClaim } from "./rules/snapshot.ts";

const PENDING_SUFFIX = pendingSecretName("");

/** The index `secretName`: names of Secrets that differ from the ApiKey's name. */
export function secretNameIndex(object: ApiKey): readonly string[] {
  const { namespace = "", name } = object.metadata;
  const target = targetSecretName(object);
  return target === name ? [] : [keyText({ namespace, name: target })];
}

/**
 * The strongest claim of another ApiKey on one of the object's Secrets; `undefined` if no other claim outranks the
 * object's own.
 */
export function otherClaimOn(object: ApiKey, caches: Pick<Caches, "of">): SecretClaim | undefined {
  const names = secretNames(object);
  const [other] = rivalsOf(object, caches)
    .filter((rival) => outranks(rival, object))
    .sort((a, b) => (outranks(a, b) ? -1 : 1));
  const secretName = other && names.find((name) => secretNames(other).includes(name));
  return secretName === undefined ? undefined : { apiKey: other?.metadata.name ?? "", secretName };
}

/** Other ApiKeys that claim one of the object's Secrets. */
function rivalsOf(object: ApiKey, caches: Pick<Caches, "of">): readonly ApiKey[] {
  const apiKeys = caches.of(apiKeyType);
  const { namespace = "", uid } = object.metadata;
  const [target, pending] = secretNames(object);
  const base = target.endsWith(PENDING_SUFFIX) ? [target.slice(0, -PENDING_SUFFIX.length)] : [];
  return [target, pending, ...base]
    .flatMap((name) => {
      const namesake = apiKeys.get({ namespace, name });
      const isDefault = namesake !== undefined && targetSecretName(namesake) === name;
      const named = apiKeys.byIndex(indexes.secretName, keyText({ namespace, name }));
      return isDefault ? [namesake, ...named] : named;
    })
    .filter((rival) => rival.metadata.uid !== uid);
}

/** ApiKeys to reconcile after `object` is deleted, because its Secret may be available to them. */
export function keysFreedBy(object: ApiKey, caches: Pick<Caches, "of">): readonly ObjectKey[] {
  return rivalsOf(object, caches).map(keyOf);
}

/** Names of the target and the pending Secret. A stored object may be older than its schema. */
function secretNames(object: ApiKey): readonly [string, string] {
  const target = targetSecretName(object);
  return [target, pendingSecretName(target)];
}

/**
 * An ApiKey with a key outranks an ApiKey with an open attempt, which outranks one without either. An ApiKey with
 * neither that is being deleted comes last. Equal ranks: the older ApiKey wins.
 */
function outranks(one: ApiKey, other: ApiKey): boolean {
  const [a, b] = [rankOf(one), rankOf(other)];
  if (a !== b) return a > b;
  return isCreatedEarlier(one, other);
}

function rankOf(apiKey: ApiKey): number {
  const { status } = apiKey;
  if (status?.current !== undefined) return 3;
  if (status?.attempt !== undefined) return 2;
  return isBeingDeleted(apiKey) ? 0 : 1;
}
