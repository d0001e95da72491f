/** Pods, by the Secrets that they use. */

import { type Pod, podType } from "../../kube/resource-types.ts";
import { secretUses } from "../../kube/secret-uses.ts";
import type { Cluster } from "./cluster.ts";
import { unlessForbidden } from "./read.ts";

/** `namespace/secret` → names of Pods; `undefined` without permission to list Pods. */
export async function podsBySecret(
  { kube }: Cluster,
  namespace: string | undefined,
): Promise<ReadonlyMap<string, readonly string[]> | undefined> {
  const uses = await unlessForbidden(kube.collect(podType, usesOf, { namespace }));
  if (uses === undefined) return undefined;
  const pods = new Map<string, string[]>();
  for (const { pod, secret } of uses.flat()) pods.set(secret, [...(pods.get(secret) ?? []), pod]);
  return pods;
}

function usesOf({ metadata, spec }: Pod) {
  if (spec === undefined) return undefined;
  return [...new Set(secretUses(spec).map(({ secret }) => secret))].map((secret) => ({
    pod: metadata.name,
    secret: `${metadata.namespace}/${secret}`,
  }));
}
