/** Changes of other objects that enqueue ApiKeys. */

import { isDeepStrictEqual } from "node:util";
import { movesTo } from "../../accounts/key-accounts.ts";
import { isReconciled } from "../../accounts/new-account.ts";
import { isUsable } from "../../accounts/ownership.ts";
import { accountInUse } from "../../api/account-in-use.ts";
import type { ApiKey } from "../../api/api-key.ts";
import { labels } from "../../api/meta.ts";
import type { ServiceAccount, ServiceAccountStatus } from "../../api/service-account.ts";
import { type KubeObject, keyOf, keyText, type ObjectKey } from "../../kube/resource.ts";
import type { StoreChange } from "../../kube/store/store.ts";
import type { Caches } from "../../reconciler/context.ts";
import { type AccessParts, accessWatches } from "../../resources/access-watches.ts";
import { indexes } from "../../resources/indexes.ts";
import { accountKey } from "../../resources/refs.ts";
import {
  apiKeyType,
  policyBindingType,
  serviceAccountType,
} from "../../resources/resource-types.ts";
import { type Watch, watch, whenGone } from "../../runtime/watch.ts";
import { parseInstant } from "../../util/time.ts";
import { type ListedKeys, listedKeys, stateInList } from "./rules/listed-keys.ts";
import { keyStatusCodec } from "./rules/status.ts";
import { keysFreedBy } from "./secret-claims.ts";

export function apiKeyWatches(caches: Caches, parts: AccessParts): readonly Watch[] {
  const serviceAccounts = caches.of(serviceAccountType);
  const apiKeys = caches.of(apiKeyType);
  const keysOf = (account: ObjectKey) =>
    apiKeys.byIndex(indexes.serviceAccount, keyText(account)).map(keyOf);
  const keysMovingTo = (account: ObjectKey) =>
    apiKeys
      .byIndex(indexes.serviceAccount, keyText(account))
      .filter((apiKey) => movesTo(apiKey, account.name))
      .map(keyOf);
  // ApiKeys without an account wait for it and are enqueued when it exists.
  const keysWithAccountAt = (connection: string) =>
    serviceAccounts
      .byIndex(indexes.connection, connection)
      .filter(({ status }) => status?.saId !== undefined)
      .flatMap((account) => keysOf(keyOf(account)));
  return [
    ...accessWatches(apiKeyType, caches, parts, keysWithAccountAt),
    // ApiKeys that name the same Secret.
    watch(
      apiKeys,
      whenGone((gone) => keysFreedBy(gone, caches)),
    ),
    watch(serviceAccounts, (change) =>
      mattersToKeys(change)
        ? keysOf(change.key)
        : [...changedKeys(change, caches), ...keysMovingTo(change.key)],
    ),
    // A key of another account waits until the policies of its account are bound.
    watch(caches.of(policyBindingType), ({ old, new: now }) =>
      [old, now].flatMap((binding) => {
        const account = binding && accountKey(binding);
        return account === undefined ? [] : keysMovingTo(account);
      }),
    ),
    watch(serviceAccounts, lateKeys),
    watch(serviceAccounts, (change) => explainedKeys(change, caches)),
    secretWatch(caches),
  ];
}

/** An edited or deleted Secret enqueues its ApiKey. */
function secretWatch({ secrets }: Caches): Watch {
  return {
    store: secrets,
    subscribe: (enqueue) =>
      secrets.subscribe(({ key, old, new: now }) => {
        const { metadata } = now ?? old ?? {};
        const name = metadata?.labels?.[labels.apiKey];
        // The operator itself deletes a pending Secret after its pair is delivered.
        const isPending = metadata?.labels?.[labels.role] === "pending";
        if (name !== undefined && !(now === undefined && isPending))
          enqueue({ namespace: key.namespace, name });
      }),
  };
}

/** ApiKeys whose open attempt the account's run has explained. */
function explainedKeys(
  { key, old, new: now }: StoreChange<ServiceAccount>,
  caches: Caches,
): readonly ObjectKey[] {
  const { explainedAttempts = [] } = now?.status ?? {};
  if (explainedAttempts.length === 0) return [];
  if (isDeepStrictEqual(explainedAttempts, old?.status?.explainedAttempts)) return [];
  const ids = new Set(explainedAttempts.map(({ id }) => id));
  return caches
    .of(apiKeyType)
    .byIndex(indexes.serviceAccount, keyText(key))
    .filter(({ status }) => ids.has(status?.attempt?.id ?? ""))
    .map(keyOf);
}

/** ApiKeys that must list an unmanaged key of the account as orphaned. */
function lateKeys({ key, old, new: now }: StoreChange<ServiceAccount>): readonly ObjectKey[] {
  const unmanaged = now?.status?.unmanagedKeys ?? [];
  if (unmanaged.length === 0 || isDeepStrictEqual(unmanaged, old?.status?.unmanagedKeys)) return [];
  const names = new Set(unmanaged.flatMap(({ apiKey }) => apiKey ?? []));
  return [...names].map((name) => ({ namespace: key.namespace, name }));
}

/**
 * After a new list of the account's keys: the ApiKeys whose key may have been deleted, disabled or enabled in the
 * console. All ApiKeys, if the list no longer shows the states of keys.
 */
function changedKeys(
  { key, old, new: now }: StoreChange<ServiceAccount>,
  caches: Caches,
): readonly ObjectKey[] {
  const { lacksStatus }: Partial<KubeObject> = now ?? {};
  if (lacksStatus) return [];
  const listOf = (status: ServiceAccountStatus = {}) => [
    status.liveKeyIds,
    status.inactiveKeyIds,
    status.lastKeyListTime,
    status.listsKeyStates,
    status.keyCount !== undefined,
  ];
  if (isDeepStrictEqual(listOf(old?.status), listOf(now?.status))) return [];
  const hidesStates = old?.status?.listsKeyStates === true && !now?.status?.listsKeyStates;
  const { lastKeyListTime, ...list }: ServiceAccountStatus = now?.status ?? {};
  const listed = listedKeys({
    ...list,
    lastKeyListTime: parseInstant(lastKeyListTime),
    listsKeys: list.keyCount !== undefined,
  });
  return caches
    .of(apiKeyType)
    .byIndex(indexes.serviceAccount, keyText(key))
    .filter((apiKey) => hidesStates || isContradicted(apiKey, key.name, listed))
    .map(keyOf);
}

/** Whether the list shows a state of one of the keys that the status does not. */
function isContradicted(apiKey: ApiKey, account: string, listed: ListedKeys): boolean {
  const { pending } = apiKey.status ?? {};
  const { current, superseded } = keyStatusCodec.decode(apiKey.status);
  const keyInUse = accountInUse(apiKey) === account ? current : undefined;
  return (
    // The conditions of a suspended ApiKey follow the list alone.
    (keyInUse !== undefined && (apiKey.spec?.suspend || !listed.isLive(keyInUse.keyId))) ||
    (pending !== undefined && listed.isInactive(pending.keyId)) ||
    superseded
      .filter((key) => (key.serviceAccount ?? apiKey.spec?.serviceAccountRef?.name) === account)
      .some((key) => stateInList(key, listed, keyInUse) !== key.state)
  );
}

/** Whether the part of an account that every ApiKey uses has changed. The rest of the status changes more often. */
function mattersToKeys({ old, new: now }: StoreChange<ServiceAccount>): boolean {
  return !isDeepStrictEqual(essence(old), essence(now));
}

function essence(account: ServiceAccount | undefined): unknown {
  if (account === undefined) return undefined;
  const { saId, ownership, tpn, orgId, projectId, state, consoleURL } = account.status ?? {};
  const readiness = [isUsable(account), isReconciled(account)];
  return [...readiness, saId, ownership, tpn, orgId, projectId, state, consoleURL];
}
