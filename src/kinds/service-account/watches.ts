/** Changes of other objects that enqueue ServiceAccounts. */
import { isDeepStrictEqual } from "node:util";
import { accountKeysOf, useOf } from "../../accounts/key-accounts.ts";
import type { ApiKey } from "../../api/api-key.ts";
import { findCondition, isTrue } from "../../api/conditions.ts";
import { annotations } from "../../api/meta.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import { keyOf, type ObjectKey } from "../../kube/resource.ts";
import type { StoreChange } from "../../kube/store/store.ts";
import type { Caches } from "../../reconciler/context.ts";
import { type AccessParts, accessWatches } from "../../resources/access-watches.ts";
import { indexes } from "../../resources/indexes.ts";
import { accountKey } from "../../resources/refs.ts";
import { apiKeyType, serviceAccountType } from "../../resources/resource-types.ts";
import { type Watch, watch, whenGone } from "../../runtime/watch.ts";
import { SECOND } from "../../util/time.ts";
import { inStatus, saIdIndex } from "./claims.ts";

/** Delay that combines changes: many keys of one account may be issued at once. */
const NEW_KEYS_MS = SECOND;

export function serviceAccountWatches(caches: Caches, parts: AccessParts): readonly Watch[] {
  const serviceAccounts = caches.of(serviceAccountType);
  return [
    ...accessWatches(serviceAccountType, caches, parts),
    // Objects that use an account block its deletion.
    ...caches
      .indexedBy(indexes.serviceAccount)
      .filter(({ type }) => type.kind !== apiKeyType.kind)
      .map(({ store }) => watch(store, whenGone(accountIn))),
    watch(caches.of(apiKeyType), whenGone(accountKeysOf)),
    watch(caches.of(apiKeyType), ({ old, new: now }) => accountsLeft(old, now)),
    watch(caches.of(apiKeyType), accountsOfNewKey, NEW_KEYS_MS),
    watch(caches.of(apiKeyType), accountsToExplain),
    // A deletion does not wait for the keys of an account without permissions.
    watch(serviceAccounts, ({ key, old, new: now }) =>
      now?.metadata.deletionTimestamp !== undefined && isRevoked(now) !== isRevoked(old)
        ? [key]
        : [],
    ),
    // While access is revoked, the account's condition reports the bound policies.
    watch(serviceAccounts, ({ key, old, new: now }) =>
      now?.spec?.access === "Revoked" &&
      !isDeepStrictEqual(old?.status?.bindings, now.status?.bindings)
        ? [key]
        : [],
    ),
    // Objects that have imported one account at the same time: one of them must leave it. Or one that has just left it.
    watch(serviceAccounts, ({ old, new: now }) => {
      const { saId, ownership } = now?.status ?? {};
      const isNews = saId !== old?.status?.saId || ownership !== old?.status?.ownership;
      if (saId === undefined || !isNews) return [];
      const holders = serviceAccounts.byIndex(indexes.saId, inStatus(saId)).map(keyOf);
      return holders.length > 1 ? holders : [];
    }),
    // Objects that wait because of another object's claim.
    watch(
      serviceAccounts,
      whenGone((gone) =>
        mayHaveClaimed(gone)
          ? saIdIndex(gone).flatMap((saId) =>
              serviceAccounts.byIndex(indexes.saId, saId).map(keyOf),
            )
          : [],
      ),
    ),
  ];
}

function isRevoked(account: ServiceAccount | undefined): boolean {
  return isTrue(account?.status?.conditions, "AccessRevoked");
}

/**
 * Thousands of objects may wait for one account. The deletion of an object that never had a claim must not enqueue
 * them.
 */
function mayHaveClaimed({ status }: ServiceAccount): boolean {
  if (status?.saId !== undefined) return true;
  const { reason = "" } = findCondition(status?.conditions, "Stalled") ?? {};
  return reason !== "AlreadyClaimed" && reason !== "NotGranted";
}

/**
 * The account's list of keys is read soon after a key came into use or was lost, an attempt was recovered, or a run was
 * requested.
 */
function accountsOfNewKey({ old, new: now }: StoreChange<ApiKey>): readonly ObjectKey[] {
  const isNews = !isDeepStrictEqual(newsOf(old), newsOf(now));
  return isNews && now !== undefined ? accountKeysOf(now) : [];
}

/** The accounts of an ApiKey whose attempt is now settled: the keys of one of them must be listed. */
function accountsToExplain({ old, new: now }: StoreChange<ApiKey>): readonly ObjectKey[] {
  const isSettled = (apiKey: ApiKey | undefined) => apiKey?.status?.attempt?.settled === true;
  return now !== undefined && isSettled(now) && !isSettled(old) ? accountKeysOf(now) : [];
}

/** Accounts that the ApiKey uses otherwise than before: their deletion may have waited for it. */
function accountsLeft(old: ApiKey | undefined, now: ApiKey | undefined): readonly ObjectKey[] {
  if (old === undefined || now === undefined) return [];
  return accountKeysOf(old).filter(({ name }) => useOf(old, name) !== useOf(now, name));
}

/** The account that the object names, as a list of keys. */
function accountIn(object: Parameters<typeof accountKey>[0]): readonly ObjectKey[] {
  const key = accountKey(object);
  return key === undefined ? [] : [key];
}

function newsOf({ metadata, status }: Partial<ApiKey> = {}): readonly unknown[] {
  return [
    status?.current?.keyId,
    status?.lastRecoveryTime,
    status?.orphaned,
    metadata?.annotations?.[annotations.reconcileRequestedAt],
  ];
}
