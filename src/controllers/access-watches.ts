/** What enqueues the objects that use a connection. */
import { isDeepStrictEqual } from "node:util";
import { type KubeObject, keyOf, type ObjectKey, type ResourceType } from "../kube/resource.ts";
import { type Watch, watch } from "../runtime/watch.ts";
import { connectionKey } from "./connection-key.ts";
import type { Caches } from "./frame/context.ts";
import { indexes } from "./indexes.ts";
import { clusterConnectionType, connectionType, namespaceType } from "./resource-types.ts";

/** What a kind needs whose objects use connections. */
export interface AccessParts {
  readonly access: {
    /** Calls back with the `connectionKey` of a connection that became usable, ceased to be, or has another client. */
    onChange(listener: (connection: string) => void): () => void;
  };
}

/** The objects that use a connection, which is given by its `connectionKey`. */
type UsersOf = (connection: string) => readonly ObjectKey[];

/**
 * What objects of the type may do with their connection has changed: its login, its spec, whether it exists, or the grants
 * of their namespace. By default an index names their connection.
 */
export function accessWatches(
  type: ResourceType,
  caches: Caches,
  { access }: AccessParts,
  usersOf: UsersOf = (connection) =>
    caches.of(type).byIndex(indexes.connection, connection).map(keyOf),
): readonly Watch[] {
  const onSpec = (connections: ResourceType) =>
    watch(caches.of(connections), ({ key, old, new: now }) =>
      old?.metadata.generation === now?.metadata.generation
        ? []
        : usersOf(connectionKey({ kind: connections.kind, name: key.name }, key.namespace)),
    );
  return [
    {
      store: caches.of(type),
      subscribe: (enqueue) =>
        access.onChange((connection) => {
          for (const key of usersOf(connection)) enqueue(key);
        }),
    },
    onSpec(clusterConnectionType),
    onSpec(connectionType),
    onLabels(type, caches),
  ];
}

/** The labels of a namespace decide about grants. */
function onLabels(type: ResourceType, caches: Caches): Watch {
  return watch<KubeObject>(caches.of(namespaceType), ({ key, old, new: now }) =>
    isDeepStrictEqual(old?.metadata.labels, now?.metadata.labels)
      ? []
      : caches
          .of(type)
          .list()
          .filter(({ metadata }) => metadata.namespace === key.name)
          .map(keyOf),
  );
}
