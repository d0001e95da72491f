/** What enqueues the objects that use a connection. */
import { isDeepStrictEqual } from "node:util";
import { connectionKey } from "../connections/connection-key.ts";
import { type KubeObject, keyOf, type ObjectKey, type ResourceType } from "../kube/resource.ts";
import type { Caches } from "../reconciler/context.ts";
import { type Watch, watch } from "../runtime/watch.ts";
import { indexes } from "./indexes.ts";
import { clusterConnectionType, connectionType, namespaceType } from "./resource-types.ts";

/** The parts needed by a kind whose objects use connections. */
export interface AccessParts {
  readonly access: {
    /** Calls back with the `connectionKey` of a connection when it becomes usable or unusable, or gets a new client. */
    onChange(listener: (connection: string) => void): () => void;
  };
}

/** Finds the objects that use the connection with this `connectionKey`. */
type UsersOf = (connection: string) => readonly ObjectKey[];

/**
 * Watches for everything that changes what objects of the type may do with their connection: its login, its spec, its
 * existence, or the grants of their namespace. By default, an index maps the objects to their connection.
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

/** The labels of a namespace decide which grants match. */
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
