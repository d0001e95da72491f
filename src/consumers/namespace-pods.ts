import type { KubeClient } from "../kube/client/client.ts";
import { podType } from "../kube/resource-types.ts";
import { digestPod, type PodDigest } from "./rules/pod-digest.ts";

/** Pods that have come to their end use nothing any more. */
const NOT_ENDED = "status.phase!=Succeeded,status.phase!=Failed";

type PodListing = Promise<readonly PodDigest[]>;

/**
 * Lists the Pods of namespaces that use Secrets, as they are when asked or later. Whoever asks while a listing
 * runs shares the next one, so that many ApiKeys of a namespace cost one or two.
 */
export class NamespacePods {
  readonly #kube: Pick<KubeClient, "collect">;
  readonly #running = new Map<string, PodListing>();
  readonly #next = new Map<string, PodListing>();

  constructor(kube: Pick<KubeClient, "collect">) {
    this.#kube = kube;
  }

  list(namespace: string): PodListing {
    const shared = this.#next.get(namespace);
    if (shared !== undefined) return shared;
    const next = this.#runAfter(this.#running.get(namespace), namespace);
    this.#next.set(namespace, next);
    return next;
  }

  async #runAfter(before: PodListing | undefined, namespace: string): PodListing {
    // Its failure is told to those who waited for it.
    await before?.catch(() => undefined);
    const listing = this.#kube.collect(podType, digestPod, {
      namespace,
      fieldSelector: NOT_ENDED,
    });
    this.#next.delete(namespace);
    this.#running.set(namespace, listing);
    try {
      return await listing;
    } finally {
      if (this.#running.get(namespace) === listing) this.#running.delete(namespace);
    }
  }
}
