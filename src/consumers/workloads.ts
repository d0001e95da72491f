/** Finds and restarts the workloads that spec.rollout names. */
import type { ApiKeySpec } from "../api/api-key.ts";
import { contentAnnotation, annotations as names } from "../api/meta.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { labelSelectorText } from "../kube/match-labels.ts";
import { type LabelSelector, workloadTypes } from "../kube/resource-types.ts";
import { type Instant, toIso8601 } from "../util/time.ts";
import { digestWorkload, type WorkloadDigest } from "./rules/workload-digest.ts";

export type Rollout = NonNullable<ApiKeySpec["rollout"]>;

export interface FoundWorkload {
  readonly workloads: readonly WorkloadDigest[];
  /** What was named and is not there, such as "Deployment api". */
  readonly missing: readonly string[];
}

export async function findWorkloads(
  kube: KubeClient,
  namespace: string,
  { workloadRefs, selector }: Rollout,
  signal: AbortSignal,
): Promise<FoundWorkload> {
  if (workloadRefs === undefined)
    return { workloads: await listWorkloads(kube, namespace, selector, signal), missing: [] };
  const looked = await Promise.all(
    workloadRefs.map(async ({ kind, name }) => {
      const type = workloadTypes[kind];
      const found = await kube.get(type, { namespace, name }, { signal });
      return found === undefined ? `${kind} ${name}` : digestWorkload(type, found);
    }),
  );
  return {
    workloads: looked.filter((each) => typeof each !== "string"),
    missing: looked.filter((each) => typeof each === "string"),
  };
}

async function listWorkloads(
  kube: KubeClient,
  namespace: string,
  selector: LabelSelector = {},
  signal: AbortSignal,
): Promise<readonly WorkloadDigest[]> {
  const labelSelector = labelSelectorText(selector);
  const options = {
    namespace,
    signal,
    ...(labelSelector === "" ? {} : { labelSelector }),
  };
  const lists = await Promise.all(
    Object.values(workloadTypes).map((type) =>
      kube.collect(type, (workload) => digestWorkload(type, workload), options),
    ),
  );
  return lists.flat();
}

/** One write to the Pod template, as `kubectl rollout restart` does it; the workload's own strategy does the rest. */
export async function restartWorkload(
  kube: KubeClient,
  { type, key, uid, resourceVersion }: WorkloadDigest,
  { apiKey, hash }: { readonly apiKey: string; readonly hash: string },
  now: Instant,
): Promise<void> {
  const annotations = { [contentAnnotation(apiKey)]: hash, [names.restartedAt]: toIso8601(now) };
  await kube.mergePatch(type, key, {
    metadata: { uid, resourceVersion },
    spec: { template: { metadata: { annotations } } },
  });
}
