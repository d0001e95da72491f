/** Which change wakes which other objects. */
import { isDeepStrictEqual } from "node:util";
import type { ApiKey } from "./api/api-key.ts";
import { isTrue } from "./api/conditions.ts";
import type { ServiceAccount, ServiceAccountStatus } from "./api/service-account.ts";
import type { Sessions } from "./controllers/connection/sessions.ts";
import { connectionKey, connectionOf } from "./controllers/connection-key.ts";
import { indexes, type Stores } from "./controllers/context.ts";
import { accountKey } from "./controllers/policy-binding/account-store.ts";
import { saIdIndex } from "./controllers/service-account/claims.ts";
import { type KubeObject, keyOf, keyText, type ObjectKey, parseKey } from "./kube/resource.ts";
import type { Store, StoreChange } from "./kube/store.ts";
import { type Relation, relation } from "./runtime/controller.ts";

export interface Relations {
  readonly clusterConnections: readonly Relation[];
  readonly connections: readonly Relation[];
  readonly serviceAccounts: readonly Relation[];
  readonly accountBindings: readonly Relation[];
  readonly apiKeys: readonly Relation[];
  readonly resourceQuotaExports: readonly Relation[];
}

export function createRelations(stores: Stores, sessions: Sessions): Relations {
  const { serviceAccounts, apiKeys, policyBindings, resourceQuotaExports, namespaces } = stores;
  const accountsUsing = (connection: string) =>
    serviceAccounts.byIndex(indexes.connection, connection).map(keyOf);
  const keysOfAccounts = (accounts: readonly ObjectKey[]) =>
    accounts.flatMap((key) => apiKeys.byIndex(indexes.serviceAccount, keyText(key)).map(keyOf));

  const exportsWith = (keys: readonly ObjectKey[]) =>
    keys.flatMap((key) => resourceQuotaExports.byIndex(indexes.apiKey, keyText(key)).map(keyOf));

  /** What may be done with a connection has changed: its login, its spec, or whether it is there at all. */
  const onConnection = (
    toKeys: (connection: string) => readonly ObjectKey[],
  ): readonly Relation[] => [
    {
      store: serviceAccounts,
      subscribe: (wake) =>
        sessions.onChange((connection) => {
          for (const key of toKeys(connection)) wake(key);
        }),
    },
    ...[
      { store: stores.clusterConnections as Store, kind: "ClusterConnection" },
      { store: stores.connections as Store, kind: "Connection" },
    ].map(({ store, kind }) =>
      relation(store, (change) =>
        change.old?.metadata.generation === change.new?.metadata.generation
          ? []
          : toKeys(connectionKey({ kind, name: change.key.name }, change.key.namespace)),
      ),
    ),
  ];
  /** The labels of a namespace decide about grants. */
  const onLabels = (store: Store): Relation =>
    relation(namespaces, (change) =>
      isDeepStrictEqual(change.old?.metadata.labels, change.new?.metadata.labels)
        ? []
        : store
            .list()
            .filter(({ metadata }) => metadata.namespace === change.key.name)
            .map(keyOf),
    );

  return {
    clusterConnections: connectionRelations("ClusterConnection", stores, sessions),
    connections: connectionRelations("Connection", stores, sessions),
    serviceAccounts: [
      ...onConnection(accountsUsing),
      onLabels(serviceAccounts),
      // What still uses an account holds its deletion; a key in use belongs into its list.
      relation(apiKeys, accountOfEndedOrNewKey),
      relation(policyBindings, whenGone(accountKey)),
      // Those who wait for the claim of another.
      relation(serviceAccounts, (change) =>
        change.new === undefined && change.old !== undefined
          ? saIdIndex(change.old).flatMap((value) =>
              serviceAccounts.byIndex(indexes.saId, value).map(keyOf),
            )
          : [],
      ),
    ],
    accountBindings: [...onConnection(accountsUsing), onLabels(serviceAccounts)],
    apiKeys: [
      ...onConnection((connection) => keysOfAccounts(accountsUsing(connection))),
      onLabels(apiKeys),
      relation(serviceAccounts, (change) =>
        mattersToKeys(change) ? keysOfAccounts([change.key]) : unlistedKeys(change, apiKeys),
      ),
    ],
    resourceQuotaExports: [
      ...onConnection((connection) =>
        resourceQuotaExports.byIndex(indexes.connection, connection).map(keyOf),
      ),
      onLabels(resourceQuotaExports),
      relation(apiKeys, ({ key, old, new: now }) =>
        old?.status?.current?.keyId === now?.status?.current?.keyId ? [] : exportsWith([key]),
      ),
      // What a key may list changes with what is bound to its account.
      relation(serviceAccounts, ({ key, old, new: now }) =>
        isDeepStrictEqual(rights(old), rights(now)) ? [] : exportsWith(keysOfAccounts([key])),
      ),
    ],
  };
}

/** A connection counts its users, and its deletion waits for them. */
function connectionRelations(
  kind: "ClusterConnection" | "Connection",
  { serviceAccounts, resourceQuotaExports }: Stores,
  sessions: Sessions,
): readonly Relation[] {
  const users = (store: Store): Relation =>
    relation(store, ({ old, new: now }) =>
      (old === undefined) === (now === undefined)
        ? []
        : [old, now]
            .filter((object) => object !== undefined)
            .flatMap((object) => connectionOf(object as KubeObject))
            .flatMap((key) => connectionNamed(kind, key)),
    );
  return [
    users(serviceAccounts),
    users(resourceQuotaExports),
    {
      store: serviceAccounts,
      subscribe: (wake) =>
        sessions.onRefused((key) => {
          for (const each of connectionNamed(kind, key)) wake(each);
        }),
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

function accountOfKey({
  metadata,
  spec,
}: KubeObject & { readonly spec?: { readonly serviceAccountRef?: { readonly name: string } } }):
  | ObjectKey
  | undefined {
  const name = spec?.serviceAccountRef?.name;
  return name === undefined ? undefined : { namespace: metadata.namespace ?? "", name };
}

function accountOfEndedOrNewKey({ old, new: now }: StoreChange<ApiKey>): readonly ObjectKey[] {
  const object = now ?? old;
  const key = object && accountOfKey(object);
  const isNews = now === undefined || old?.status?.current?.keyId !== now.status?.current?.keyId;
  return isNews && key !== undefined ? [key] : [];
}

/** After another list: the ApiKeys whose key it lacks, which may have vanished at the console. */
function unlistedKeys(
  { key, old, new: now }: StoreChange<ServiceAccount>,
  apiKeys: Stores["apiKeys"],
): readonly ObjectKey[] {
  const listOf = ({ liveKeyIds, keysListedAt }: ServiceAccountStatus = {}) => [
    liveKeyIds,
    keysListedAt,
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
  const { conditions, saId, tpn, orgId, projectId, state } = account.status ?? {};
  return [isTrue(conditions, "Ready"), saId, tpn, orgId, projectId, state];
}
