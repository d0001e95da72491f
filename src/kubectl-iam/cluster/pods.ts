/** Pods by the Secrets that they take something from. */
import type { Pod, PodSpec } from "../../kube/resource-types.ts";
import { podType } from "../../kube/resource-types.ts";
import type { Cluster } from "./cluster.ts";
import { unlessForbidden } from "./read.ts";

/** `namespace/secret` → names of Pods; `undefined` where we may not list Pods. */
export async function podsBySecret(
  { kube }: Cluster,
  namespace: string | undefined,
): Promise<ReadonlyMap<string, readonly string[]> | undefined> {
  const uses = await unlessForbidden(
    kube.collect(podType, usesOf, namespace === undefined ? {} : { namespace }),
  );
  if (uses === undefined) return undefined;
  const pods = new Map<string, string[]>();
  for (const { pod, secret } of uses.flat()) pods.set(secret, [...(pods.get(secret) ?? []), pod]);
  return pods;
}

function usesOf({ metadata, spec }: Pod) {
  if (spec === undefined) return undefined;
  return [...new Set(secretsOf(spec))].map((secret) => ({
    pod: metadata.name,
    secret: `${metadata.namespace}/${secret}`,
  }));
}

function secretsOf({ containers, initContainers = [], volumes = [] }: PodSpec): readonly string[] {
  const inVolumes = volumes.flatMap(({ secret, projected }) => [
    secret?.secretName,
    ...(projected?.sources ?? []).map((source) => source.secret?.name),
  ]);
  const inVariables = [...containers, ...initContainers].flatMap(({ env = [], envFrom = [] }) => [
    ...env.map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
    ...envFrom.map(({ secretRef }) => secretRef?.name),
  ]);
  return [...inVolumes, ...inVariables].filter((name) => name !== undefined);
}
