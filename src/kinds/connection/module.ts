import type { ClusterConnection, Connection } from "../../api/connection.ts";
import { bundleId } from "../../connections/client-settings.ts";
import { defineModule } from "../../reconciler/kind-module.ts";
import { clusterConnectionType, connectionType } from "../../resources/resource-types.ts";
import type { ConnectionSources } from "./observe.ts";
import { createClusterConnectionReconciler, createConnectionReconciler } from "./reconciler.ts";
import { connectionWatches } from "./watches.ts";

export type ConnectionParts = ConnectionSources;

export const clusterConnections = defineModule<ClusterConnection, ConnectionParts>({
  type: clusterConnectionType,
  // Only administrators write ClusterConnections, so the cache keeps the whole object.
  cache: { keep: (_, whole) => whole },
  watches: (caches, { registry }) =>
    connectionWatches("ClusterConnection", caches, registry.sessions),
  // Every operator needs its own login, so no label selects ClusterConnections.
  shardKeyObject: () => undefined,
  reconciler: createClusterConnectionReconciler,
});

export const connections = defineModule<Connection, ConnectionParts>({
  type: connectionType,
  cache: { keep: withBundleId },
  watches: (caches, { registry }) => connectionWatches("Connection", caches, registry.sessions),
  shardKeyObject: () => undefined,
  reconciler: createConnectionReconciler,
});

/** In a large Connection, a hash replaces the certificates; it is enough to detect that a new client is needed. */
function withBundleId(trimmed: Connection, whole: Connection): Connection {
  const { caBundle }: Partial<Connection["spec"]> = whole.spec ?? {};
  if (trimmed === whole || typeof caBundle !== "string") return trimmed;
  return { ...trimmed, spec: { ...trimmed.spec, caBundle: bundleId(caBundle) } };
}
