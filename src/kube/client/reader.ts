import type { KubeClient } from "./client.ts";

/** Read-only access to the Kubernetes API: there is no method that changes anything. */
export type KubeReader = Pick<KubeClient, "get" | "list" | "collect">;

/** A separate object with only the reading methods of a client. */
export function toKubeReader(client: KubeClient): KubeReader {
  return {
    get: (type, key, options) => client.get(type, key, options),
    list: (type, options) => client.list(type, options),
    collect: (type, digest, options) => client.collect(type, digest, options),
  };
}
