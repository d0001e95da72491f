import type { KubeClient } from "../kube/client/client.ts";
import { podType } from "../kube/resource-types.ts";
import { digestPod, type PodDigest } from "./rules/pod-digest.ts";

/** Finished Pods do not use Secrets any more. */
const NOT_ENDED = "status.phase!=Succeeded,status.phase!=Failed";

type PodListing = Promise<readonly PodDigest[]>;

/**
 * Lists the Pods of a namespace that use Secrets. The list starts at the call or later, never earlier. All calls made
 * while a list request runs share the next request, so that many ApiKeys of a namespace cost one or two requests.
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
    // The callers of the earlier request get its failure.
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
