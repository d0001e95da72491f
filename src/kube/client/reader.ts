import type { KubeClient } from "./client.ts";

/** The Kubernetes API, to be looked at only: there is no method by which anything could be changed. */
export type KubeReader = Pick<KubeClient, "get" | "list" | "collect">;

/** The reading half of a client, as an object of its own. */
export function toKubeReader(client: KubeClient): KubeReader {
  return {
    get: (type, key, options) => client.get(type, key, options),
    list: (type, options) => client.list(type, options),
    collect: (type, digest, options) => client.collect(type, digest, options),
  };
}
