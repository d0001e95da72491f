/** What enqueues connections: changes of their login or console, and objects that use them. */

import { connectionOf } from "../../connections/connection-key.ts";
import { type ObjectKey, parseKey } from "../../kube/resource.ts";
import type { Caches } from "../../reconciler/context.ts";
import { indexes } from "../../resources/indexes.ts";
import { serviceAccountType } from "../../resources/resource-types.ts";
import { type Watch, watch } from "../../runtime/watch.ts";
import type { ConnectionKindName } from "./rules/kind-name.ts";
import type { Sessions } from "./sessions.ts";

/** A new or deleted user enqueues its connection, which counts its users and waits for them during its deletion. */
export function connectionWatches(
  kind: ConnectionKindName,
  caches: Caches,
  sessions: Pick<Sessions, "onRefused" | "onOutage">,
): readonly Watch[] {
  const users = caches
    .indexedBy(indexes.connection)
    .map(({ store }) =>
      watch(store, ({ old, new: now }) =>
        (old === undefined) === (now === undefined)
          ? []
          : [old, now]
              .flatMap((object) => (object === undefined ? [] : connectionOf(object)))
              .flatMap((key) => connectionNamed(kind, key)),
      ),
    );
  return [
    ...users,
    {
      store: caches.of(serviceAccountType),
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

/** `Kind/namespace/name` or `Kind/name` → the object's key; empty if the key names a different kind. */
function connectionNamed(kind: string, key: string): readonly ObjectKey[] {
  return key.startsWith(`${kind}/`) ? [parseKey(key.slice(kind.length + 1))] : [];
}
