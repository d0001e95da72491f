/** The operator's view of the cluster: the cached kinds, their indexes, and the watches that fill them. */

import { kinds as allKinds } from "../kinds/kinds.ts";
import type { KubeObject, ResourceType } from "../kube/resource.ts";
import { createStore, type WritableStore } from "../kube/store/memory-store.ts";
import type { WriteTracker } from "../kube/store/store.ts";
import { startReflector } from "../kube/watch/reflector.ts";
import type { Caches } from "../reconciler/context.ts";
import type { KindModule } from "../reconciler/kind-module.ts";
import { namespaceType, secretType } from "../resources/resource-types.ts";
import { shrink } from "./shrink.ts";
import { logListenerError, WatchedSecrets, type WatchedSecretsOptions } from "./watched-secrets.ts";

export interface ClusterCache {
  readonly caches: Caches;
  readonly synced: boolean;
  /** The cached types, with the stores that receive their objects. */
  readonly types: readonly CachedType[];
  /** Records the operator's own writes of a type; `undefined` if the type is not cached. */
  trackerOf(type: ResourceType): WriteTracker | undefined;
  /** Fills the caches; resolves once the signal is aborted and no watch is left. */
  follow(signal: AbortSignal): Promise<void>;
}

interface ClusterCacheOptions extends WatchedSecretsOptions {
  /** Whether cluster-scoped kinds are watched; otherwise they count as absent. */
  readonly clusterScoped: boolean;
  /** All of the operator's kinds by default. */
  readonly kinds?: readonly Cached[];
  /** The label selector of the operator's objects; empty selects all objects. */
  readonly selector: string;
}

interface CachedType {
  readonly type: ResourceType;
  readonly indexes: readonly string[];
  readonly store: WritableStore<KubeObject>;
  readonly shrink: (object: KubeObject, size: number) => KubeObject;
}

type Cached = Pick<KindModule, "type" | "cache">;

/** Keep namespaces whole, because a grant can select a namespace by any label. */
const namespaceCache: Cached = { type: namespaceType, cache: { keep: (_, whole) => whole } };

export function createClusterCache(options: ClusterCacheOptions): ClusterCache {
  const { kinds = allKinds } = options;
  const types = [...kinds, namespaceCache].map((module) => createType(module, options));
  const stores = new Map(types.map(({ type, store }) => [type, store]));
  const secrets = new WatchedSecrets(options);
  return {
    caches: {
      secrets,
      of: <T extends KubeObject>(type: ResourceType<T>) => {
        const store = stores.get(type);
        if (store === undefined) throw new Error(`${type.plural} are not cached`);
        return store as unknown as WritableStore<T>;
      },
      indexedBy: (index) => types.filter(({ indexes }) => indexes.includes(index)),
    },
    types,
    trackerOf: (type) => (type === secretType ? secrets : stores.get(type)),
    get synced() {
      return secrets.synced && types.every(({ store }) => store.synced);
    },
    follow: async (signal) => {
      const followed = types.flatMap((each) => follow(each, options, signal));
      await Promise.all([...followed, secrets.follow(signal)]);
    },
  };
}

function createType(
  { type, cache: { indexes = {}, keep } = {} }: Cached,
  { selector, log, metrics }: ClusterCacheOptions,
): CachedType {
  const { kind } = type;
  metrics.storeSynced.set({ kind }, 0);
  metrics.watchRestarts.inc({ kind, reason: "Ended" }, 0);
  return {
    type,
    indexes: Object.keys(indexes),
    store: createStore({ indexes, onListenerError: logListenerError(log, kind) }),
    shrink: (object, size) => {
      const trimmed = shrink(object, selector, size);
      return keep === undefined ? trimmed : keep(trimmed, object);
    },
  };
}

function follow(
  { type, store, shrink }: CachedType,
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
