/** The operator's view of the cluster: which kinds are kept in memory, how they are indexed and filled. */
import type { ApiKey } from "../api/api-key.ts";
import type { ClusterConnection, Connection } from "../api/connection.ts";
import type { PolicyBinding } from "../api/policy-binding.ts";
import type { ResourceQuotaExport } from "../api/resource-quota-export.ts";
import type { ServiceAccount } from "../api/service-account.ts";
import { secretNameIndex } from "../controllers/api-key/secret-claims.ts";
import { connectionOf } from "../controllers/connection-key.ts";
import { type Caches, indexes } from "../controllers/frame/context.ts";
import { accountKey } from "../controllers/policy-binding/account-store.ts";
import {
  apiKeyType,
  clusterConnectionType,
  connectionType,
  namespaceType,
  policyBindingType,
  resourceQuotaExportType,
  secretType,
  serviceAccountType,
} from "../controllers/resource-types.ts";
import { saIdIndex } from "../controllers/service-account/claims.ts";
import { type KubeObject, keyText, type ResourceType } from "../kube/resource.ts";
import { createStore, type WritableStore } from "../kube/store/memory-store.ts";
import type { WriteTracker } from "../kube/store/store.ts";
import type { IndexFunction } from "../kube/store/store-index.ts";
import { startReflector } from "../kube/watch/reflector.ts";
import { shrink, shrinkConnection } from "./shrink.ts";
import { logListenerError, WatchedSecrets, type WatchedSecretsOptions } from "./watched-secrets.ts";

export interface ClusterCache {
  readonly caches: Caches;
  readonly synced: boolean;
  /** The writing sides of the caches of kinds. */
  readonly kinds: readonly CachedKind[];
  /** What learns of our own writes of a type; nothing for a type that is not cached. */
  trackerOf(type: ResourceType): WriteTracker | undefined;
  /** Starts to fill the caches; resolves once the signal is aborted and no watch is left. */
  follow(signal: AbortSignal): Promise<void>;
}

export interface ClusterCacheOptions extends WatchedSecretsOptions {
  /** Whether cluster-scoped kinds are watched; otherwise they count as absent. */
  readonly clusterScoped: boolean;
  /** The labels that the operator's objects carry; empty: any. */
  readonly selector: string;
}

export interface CachedKind {
  readonly type: ResourceType;
  readonly store: WritableStore<KubeObject>;
  readonly shrink: (object: KubeObject, size: number) => KubeObject;
}

export function createClusterCache(options: ClusterCacheOptions): ClusterCache {
  const kinds: CachedKind[] = [];
  const cached = <T extends KubeObject>(
    type: ResourceType<T>,
    by: Readonly<Record<string, IndexFunction<T>>> = {},
    shrinkObject: typeof shrink = shrink,
  ): WritableStore<T> => {
    const store = createStore<T>({
      indexes: by,
      onListenerError: logListenerError(options.log, type.kind),
    });
    kinds.push({
      type,
      store: store as unknown as WritableStore<KubeObject>,
      shrink: (object, size) => shrinkObject(object, options.selector, size),
    });
    options.metrics.storeSynced.set({ kind: type.kind }, 0);
    options.metrics.watchRestarts.inc({ kind: type.kind, reason: "Ended" }, 0);
    return store;
  };
  const secrets = new WatchedSecrets(options);
  const caches: Caches = {
    secrets,
    clusterConnections: cached<ClusterConnection>(clusterConnectionType, {}, whole),
    connections: cached<Connection>(connectionType, {}, shrinkConnection),
    serviceAccounts: cached<ServiceAccount>(serviceAccountType, {
      [indexes.connection]: connectionOf,
      [indexes.saId]: saIdIndex,
    }),
    apiKeys: cached<ApiKey>(apiKeyType, {
      [indexes.serviceAccount]: serviceAccountOf,
      [indexes.secretName]: secretNameIndex,
      [indexes.openAttempt]: (apiKey) =>
        apiKey.status?.attempt === undefined ? [] : serviceAccountOf(apiKey),
    }),
    policyBindings: cached<PolicyBinding>(policyBindingType, {
      [indexes.serviceAccount]: (binding) => {
        const key = accountKey(binding);
        return key === undefined ? [] : [keyText(key)];
      },
    }),
    resourceQuotaExports: cached<ResourceQuotaExport>(resourceQuotaExportType, {
      [indexes.connection]: connectionOf,
      [indexes.apiKey]: apiKeyOf,
    }),
    // Grants are given by any of their labels.
    namespaces: cached(namespaceType, {}, whole),
  };
  const trackers = new Map<string, WriteTracker>([
    [nameOf(secretType), secrets],
    ...kinds.map(({ type, store }) => [nameOf(type), store] as const),
  ]);
  return {
    caches,
    kinds,
    trackerOf: (type) => trackers.get(nameOf(type)),
    get synced() {
      return secrets.synced && kinds.every(({ store }) => store.synced);
    },
    follow: async (signal) => {
      const followed = kinds.flatMap((each) => follow(each, options, signal));
      await Promise.all([...followed, secrets.follow(signal)]);
    },
  };
}

function nameOf({ group, plural }: ResourceType): string {
  return `${group}/${plural}`;
}

/** For what only administrators write. */
function whole<T extends KubeObject>(object: T): T {
  return object;
}

function follow(
  { type, store, shrink }: CachedKind,
  { api, namespaces, clusterScoped, random, log, metrics }: ClusterCacheOptions,
  signal: AbortSignal,
): readonly Promise<void>[] {
  if (!type.namespaced && !clusterScoped) {
    store.openScope("").beginReplace()([], "0");
    metrics.storeSynced.set({ kind: type.kind }, 1);
    return [];
  }
  const scopes =
    type.namespaced && namespaces.length > 0
      ? namespaces.map((namespace) => ({ namespace }))
      : [{}];
  const { kind } = type;
  return scopes.map(
    (scope) =>
      startReflector({
        api,
        type,
        scope,
        store,
        shrink,
        random,
        log,
        signal,
        observer: {
          onRestart: (reason) => metrics.watchRestarts.inc({ kind, reason }),
          onSynced: () => metrics.storeSynced.set({ kind }, 1),
        },
      }).done,
  );
}

/** Stored objects may lack what a newer schema requires. */
type Stored<T> = KubeObject & { readonly spec?: Partial<T> };

function serviceAccountOf({ metadata, spec }: Stored<ApiKey["spec"]>): readonly string[] {
  const name = spec?.serviceAccountRef?.name;
  return name === undefined ? [] : [keyText({ namespace: metadata.namespace ?? "", name })];
}

function apiKeyOf({ metadata, spec }: Stored<ResourceQuotaExport["spec"]>): readonly string[] {
  const name = spec?.apiKeyRef?.name;
  return name === undefined ? [] : [keyText({ namespace: metadata.namespace ?? "", name })];
}
