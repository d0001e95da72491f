/** Connections of which it may be unknown what they allow, because the user cannot read them. */
import { connectionKey, parseConnectionKey } from "../../connections/connection-key.ts";
import { isKubeError } from "../../kube/errors.ts";
import type { ObjectKey, ResourceType } from "../../kube/resource.ts";
import type { Connections, WithClient } from "../../reconciler/context.ts";
import {
  clusterConnectionType,
  connectionType,
  namespaceType,
} from "../../resources/resource-types.ts";
import { toError } from "../../util/to-error.ts";
import type { HypotheticalCluster } from "./hypothetical-cluster.ts";

export class KnownConnections {
  readonly #cluster: HypotheticalCluster;
  readonly #doubts = new Map<string, string>();

  constructor(cluster: HypotheticalCluster) {
    this.#cluster = cluster;
  }

  /** Reads a connection that could not be listed. */
  async read(key: string): Promise<void> {
    const { kind, key: object } = parseConnectionKey(key);
    const type = kind === "Connection" ? connectionType : clusterConnectionType;
    const doubt = await this.#readUnlisted(type, object);
    if (doubt !== undefined) this.note(key, doubt);
  }

  /** From now on, nothing is known of what needs the connection. */
  note(key: string, doubt: string): void {
    this.#doubts.set(key, doubt);
  }

  /** `resolve` rejects if the answer depends on something that cannot be read. */
  of(connections: Connections<WithClient>): Connections<WithClient> {
    return {
      resolve: async (ref, namespace) => {
        const doubt = this.#doubts.get(connectionKey(ref, namespace));
        if (doubt !== undefined) throw new Error(`${ref.kind} ${ref.name} ${doubt}`);
        const found = await connections.resolve(ref, namespace);
        if (found.ok || found.waiting.reason !== "NotGranted") return found;
        const about = await this.#readUnlisted(namespaceType, { namespace: "", name: namespace });
        if (about === undefined) return connections.resolve(ref, namespace);
        throw new Error(
          `Namespace ${namespace} ${about}, so whether a grant of ${ref.kind} ${ref.name} matches it is unknown`,
        );
      },
    };
  }

  /** Why the object is unknown; `undefined` if it was listed or could be read. */
  async #readUnlisted(type: ResourceType, key: ObjectKey): Promise<string | undefined> {
    const { isUnlisted, caches, kube, put } = this.#cluster;
    if (!isUnlisted(type) || caches.of(type).get(key) !== undefined) return undefined;
    try {
      const found = await kube.get(type, key);
      if (found !== undefined) put(type, found);
      return undefined;
    } catch (error) {
      if (!isKubeError(error, "Forbidden")) throw error;
      return `cannot be read (${toError(error).message})`;
    }
  }
}
