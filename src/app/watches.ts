/** Which change enqueues which other objects. */
import { isDeepStrictEqual } from "node:util";
import type { ApiKey } from "../api/api-key.ts";
import { findCondition, isTrue } from "../api/conditions.ts";
import { annotations, labels } from "../api/meta.ts";
import type { PolicyBinding } from "../api/policy-binding.ts";
import type { ServiceAccount, ServiceAccountStatus } from "../api/service-account.ts";
import { keysFreedBy } from "../controllers/api-key/secret-claims.ts";
import type { Sessions } from "../controllers/connection/sessions.ts";
import { connectionKey, connectionOf } from "../controllers/connection-key.ts";
import type { Caches } from "../controllers/frame/context.ts";
import { indexes } from "../controllers/indexes.ts";
import { hasHadItsTurn } from "../controllers/new-account.ts";
import { accountKey } from "../controllers/refs.ts";
import {
  apiKeyType,
  clusterConnectionType,
  connectionType,
  namespaceType,
  policyBindingType,
  resourceQuotaExportType,
  serviceAccountType,
} from "../controllers/resource-types.ts";
import { saIdIndex } from "../controllers/service-account/claims.ts";
import { type KubeObject, keyOf, keyText, type ObjectKey, parseKey } from "../kube/resource.ts";
import type { Store, StoreChange } from "../kube/store/store.ts";
import { type Watch, watch } from "../runtime/controller.ts";
import { SECOND } from "../util/time.ts";

/** Many keys of one account may come at once. */
const NEW_KEYS_MS = SECOND;

export interface Watches {
  readonly clusterConnections: readonly Watch[];
  readonly connections: readonly Watch[];
  readonly serviceAccounts: readonly Watch[];
  readonly accountBindings: readonly Watch[];
  readonly apiKeys: readonly Watch[];
  readonly resourceQuotaExports: readonly Watch[];
}

export function createWatches(caches: Caches, sessions: Sessions): Watches {
  const serviceAccounts = caches.of(serviceAccountType);
  const apiKeys = caches.of(apiKeyType);
  const resourceQuotaExports = caches.of(resourceQuotaExportType);
  const find = finder(caches);
  const onAccess = (store: Store, usersOf: UsersOf) => [
    ...onConnection(caches, sessions, usersOf),
    onLabels(caches, store),
  ];
  return {
    clusterConnections: connectionWatches("ClusterConnection", caches, sessions),
    connections: connectionWatches("Connection", caches, sessions),
    serviceAccounts: [
      ...onAccess(serviceAccounts, find.accountsUsing),
      ...serviceAccountWatches(caches),
    ],
    accountBindings: onAccess(serviceAccounts, find.accountsUsing),
    apiKeys: [
      ...onAccess(apiKeys, find.keysWithAccountAt),
      ...apiKeyWatches(caches, find),
      secretWatch(caches),
    ],
    resourceQuotaExports: [
      ...onAccess(resourceQuotaExports, find.exportsUsing),
      ...quotaExportWatches(caches, find),
    ],
  };
}

/** The objects that use a connection, which is given by its `connectionKey`. */
type UsersOf = (connection: string) => readonly ObjectKey[];

type Finder = ReturnType<typeof finder>;

function finder(caches: Caches) {
  const serviceAccounts = caches.of(serviceAccountType);
  const apiKeys = caches.of(apiKeyType);
  const resourceQuotaExports = caches.of(resourceQuotaExportType);
  const accountsUsing: UsersOf = (connection) =>
    serviceAccounts.byIndex(indexes.connection, connection).map(keyOf);
  // The others wait for their account, and are told when there is one.
  const keysWithAccountAt: UsersOf = (connection) =>
    keysOf(
      serviceAccounts
        .byIndex(indexes.connection, connection)
        .filter(({ status }) => status?.saId !== undefined)
        .map(keyOf),
    );
  const exportsUsing: UsersOf = (connection) =>
    resourceQuotaExports.byIndex(indexes.connection, connection).map(keyOf);
  const keysOf = (accounts: readonly ObjectKey[]) =>
    accounts.flatMap((key) => apiKeys.byIndex(indexes.serviceAccount, keyText(key)).map(keyOf));
  const exportsWith = (keys: readonly ObjectKey[]) =>
    keys.flatMap((key) => resourceQuotaExports.byIndex(indexes.apiKey, keyText(key)).map(keyOf));
  return { accountsUsing, keysWithAccountAt, exportsUsing, keysOf, exportsWith };
}

/** What may be done with a connection has changed: its login, its spec, or whether it is there at all. */
function onConnection(caches: Caches, sessions: Sessions, usersOf: UsersOf): readonly Watch[] {
  const onSpec = (kind: "ClusterConnection" | "Connection", store: Store) =>
    watch(store, ({ key, old, new: now }) =>
      old?.metadata.generation === now?.metadata.generation
        ? []
        : usersOf(connectionKey({ kind, name: key.name }, key.namespace)),
    );
  return [
    {
      store: caches.of(serviceAccountType),
      subscribe: (enqueue) =>
        sessions.onChange((connection) => {
          for (const key of usersOf(connection)) enqueue(key);
        }),
    },
    onSpec("ClusterConnection", caches.of(clusterConnectionType)),
    onSpec("Connection", caches.of(connectionType)),
  ];
}

/** The labels of a namespace decide about grants. */
function onLabels(caches: Caches, store: Store): Watch {
  return watch(caches.of(namespaceType), ({ key, old, new: now }) =>
    isDeepStrictEqual(old?.metadata.labels, now?.metadata.labels)
      ? []
      : store
          .list()
          .filter(({ metadata }) => metadata.namespace === key.name)
          .map(keyOf),
  );
}

function serviceAccountWatches(caches: Caches): readonly Watch[] {
  const serviceAccounts = caches.of(serviceAccountType);
  const apiKeys = caches.of(apiKeyType);
  const policyBindings = caches.of(policyBindingType);
  return [
    // What still uses an account holds its deletion.
    watch(apiKeys, whenGone<ApiKey>(accountKey)),
    watch(apiKeys, accountOfNewKey, NEW_KEYS_MS),
    watch(policyBindings, whenGone<PolicyBinding>(accountKey)),
    // Its condition reports what is bound while access is revoked.
    watch(serviceAccounts, ({ key, old, new: now }) =>
      now?.spec?.access === "Revoked" &&
      !isDeepStrictEqual(old?.status?.bindings, now.status?.bindings)
        ? [key]
        : [],
    ),
    // Those who wait for the claim of another.
    watch(serviceAccounts, ({ old, new: now }) =>
      now === undefined && old !== undefined && mayHaveClaimed(old)
        ? saIdIndex(old).flatMap((value) => serviceAccounts.byIndex(indexes.saId, value).map(keyOf))
        : [],
    ),
  ];
}

/** Thousands of objects may wait for one account: the deletion of those that never had a claim concerns none of them. */
function mayHaveClaimed({ status }: ServiceAccount): boolean {
  if (status?.saId !== undefined) return true;
  const { reason = "" } = findCondition(status?.conditions, "Stalled") ?? {};
  return reason !== "AlreadyClaimed" && reason !== "NotGranted";
}

function apiKeyWatches(caches: Caches, find: Finder): readonly Watch[] {
  const serviceAccounts = caches.of(serviceAccountType);
  const apiKeys = caches.of(apiKeyType);
  return [
    // Those who name the same Secret.
    watch(apiKeys, ({ old, new: now }) =>
      old !== undefined && now === undefined ? keysFreedBy(old, caches) : [],
    ),
    watch(serviceAccounts, (change) =>
      mattersToKeys(change) ? find.keysOf([change.key]) : unlistedKeys(change, apiKeys),
    ),
    watch(serviceAccounts, lateKeys),
  ];
}

/** An edited or deleted Secret enqueues the ApiKey that it is for. */
function secretWatch({ secrets }: Caches): Watch {
  return {
    store: secrets,
    subscribe: (enqueue) =>
      secrets.subscribe(({ key, old, new: now }) => {
        const { metadata } = now ?? old ?? {};
        const name = metadata?.labels?.[labels.apiKey];
        // A staging Secret goes when its pair is delivered: that is our own doing.
        const isStaging = metadata?.labels?.[labels.role] === "staging";
        if (name !== undefined && !(now === undefined && isStaging))
          enqueue({ namespace: key.namespace, name });
      }),
  };
}

function quotaExportWatches(caches: Caches, find: Finder): readonly Watch[] {
  return [
    watch(caches.of(apiKeyType), ({ key, old, new: now }) =>
      old?.status?.current?.keyId === now?.status?.current?.keyId ? [] : find.exportsWith([key]),
    ),
    // What a key may list changes with what is bound to its account.
    watch(caches.of(serviceAccountType), ({ key, old, new: now }) =>
      isDeepStrictEqual(rights(old), rights(now)) ? [] : find.exportsWith(find.keysOf([key])),
    ),
  ];
}

/** A connection counts its users, and its deletion waits for them. */
function connectionWatches(
  kind: "ClusterConnection" | "Connection",
  caches: Caches,
  sessions: Sessions,
): readonly Watch[] {
  const serviceAccounts = caches.of(serviceAccountType);
  const users = (store: Store): Watch =>
    watch(store, ({ old, new: now }) =>
      (old === undefined) === (now === undefined)
        ? []
        : [old, now]
            .filter((object) => object !== undefined)
            .flatMap((object) => connectionOf(object as KubeObject))
            .flatMap((key) => connectionNamed(kind, key)),
    );
  return [
    users(serviceAccounts),
    users(caches.of(resourceQuotaExportType)),
    {
      store: serviceAccounts,
      subscribe: (enqueue) => {
        const news = (key: string) => {
          for (const each of connectionNamed(kind, key)) enqueue(each);
        };
        const ends = [sessions.onRefused(news), sessions.onOutage(news)];
        return () => {
          for (const end of ends) end();
        };
      },
    },
  ];
}

/** `Kind/namespace/name` or `Kind/name` → the object's key, where it is of that kind. */
function connectionNamed(kind: string, key: string): readonly ObjectKey[] {
  return key.startsWith(`${kind}/`) ? [parseKey(key.slice(kind.length + 1))] : [];
}

function whenGone<T extends KubeObject>(toKey: (object: T) => ObjectKey | undefined) {
  return ({ old, new: now }: StoreChange<T>): readonly ObjectKey[] => {
    const key = old !== undefined && now === undefined ? toKey(old) : undefined;
    return key === undefined ? [] : [key];
  };
}

/** The account's list of keys is read soon after a key came into use or was lost, an issue was recovered, or a run was requested. */
function accountOfNewKey({ old, new: now }: StoreChange<ApiKey>): readonly ObjectKey[] {
  const key = now && accountKey(now);
  const isNews = !isDeepStrictEqual(newsOf(old), newsOf(now));
  return isNews && key !== undefined ? [key] : [];
}

function newsOf({ metadata, status }: Partial<ApiKey> = {}): readonly unknown[] {
  return [
    status?.current?.keyId,
    status?.lastRecoveryTime,
    status?.orphaned,
    metadata?.annotations?.[annotations.reconcileRequestedAt],
  ];
}

/** Of unmanaged keys, some name the ApiKeys that are to list them as orphaned. */
function lateKeys({ key, old, new: now }: StoreChange<ServiceAccount>): readonly ObjectKey[] {
  const unmanaged = now?.status?.unmanagedKeys ?? [];
  if (unmanaged.length === 0 || isDeepStrictEqual(unmanaged, old?.status?.unmanagedKeys)) return [];
  const names = new Set(unmanaged.flatMap(({ apiKey }) => apiKey ?? []));
  return [...names].map((name) => ({ namespace: key.namespace, name }));
}

/** After another list: the ApiKeys whose key it lacks, which may have vanished at the console. */
function unlistedKeys(
  { key, old, new: now }: StoreChange<ServiceAccount>,
  apiKeys: Store<ApiKey>,
): readonly ObjectKey[] {
  const { lacksStatus }: Partial<KubeObject> = now ?? {};
  if (lacksStatus) return [];
  const listOf = ({ liveKeyIds, lastKeyListTime }: ServiceAccountStatus = {}) => [
    liveKeyIds,
    lastKeyListTime,
  ];
  if (isDeepStrictEqual(listOf(old?.status), listOf(now?.status))) return [];
  const listed = new Set(now?.status?.liveKeyIds);
  return apiKeys
    .byIndex(indexes.serviceAccount, keyText(key))
    .filter(({ status }) => status?.current && !listed.has(status.current.keyId))
    .map(keyOf);
}

function rights(account: ServiceAccount | undefined): unknown {
  const { state, bindings } = account?.status ?? {};
  return [state, bindings?.policyIds];
}

/** What every ApiKey takes from its account; the rest of the status changes more often. */
function mattersToKeys({ old, new: now }: StoreChange<ServiceAccount>): boolean {
  return !isDeepStrictEqual(essence(old), essence(now));
}

function essence(account: ServiceAccount | undefined): unknown {
  if (account === undefined) return undefined;
  const { conditions, saId, tpn, orgId, projectId, state, consoleURL } = account.status ?? {};
  const readiness = [isTrue(conditions, "Ready"), hasHadItsTurn(account)];
  return [...readiness, saId, tpn, orgId, projectId, state, consoleURL];
}
