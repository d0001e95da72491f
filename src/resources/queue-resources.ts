/** The resource that a run waits for, so that the queue is fair to tenants: the connection. */
import type { ServiceAccount } from "../api/service-account.ts";
import { connectionKey } from "../connections/connection-key.ts";
import type { KubeObject, ObjectKey } from "../kube/resource.ts";
import type { Caches } from "../reconciler/context.ts";
import { accountKey } from "./refs.ts";
import { serviceAccountType } from "./resource-types.ts";

type WithConnection = KubeObject & {
  readonly spec?: {
    readonly connectionRef?: {
      readonly kind?: string | undefined;
      readonly name?: string | undefined;
    };
  };
};

/**
 * The ClusterConnection that the object uses. `undefined` for a Connection: the object then counts towards its
 * namespace, because a tenant can have any number of Connections.
 */
export function connectionResource({ spec }: WithConnection): string | undefined {
  const ref = spec?.connectionRef;
  return ref?.kind === "Connection" ? undefined : connectionKey(ref, "");
}

/** The ClusterConnection of the ServiceAccount with this key. */
export function accountResource(caches: Caches, key: ObjectKey): string | undefined {
  const account = caches.of(serviceAccountType).get(key);
  return account && connectionResource(account);
}

/** The ServiceAccount that the object names, if it exists. */
export function accountOf(
  caches: Caches,
  object: Parameters<typeof accountKey>[0],
): ServiceAccount | undefined {
  const key = accountKey(object);
  return key && caches.of(serviceAccountType).get(key);
}
