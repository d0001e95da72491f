/** Finds and restarts the workloads selected by spec.rollout. */
import type { ApiKeySpec } from "../api/api-key.ts";
import { contentAnnotation, annotations as names } from "../api/meta.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { isKubeError } from "../kube/errors.ts";
import { labelSelectorText } from "../kube/match-labels.ts";
import type { ObjectKey } from "../kube/resource.ts";
import {
  type LabelSelector,
  rolloutType,
  type Workload,
  workloadTypes,
} from "../kube/resource-types.ts";
import { SpecError } from "../reconciler/errors.ts";
import { settleAll } from "../reconciler/settle-all.ts";
import { type Instant, SECOND, toIso8601 } from "../util/time.ts";
import type { Content } from "./rules/decide.ts";
import { digestRollout, digestWorkload, type WorkloadDigest } from "./rules/workload-digest.ts";

export type Rollout = NonNullable<ApiKeySpec["rollout"]>;

interface FoundWorkload {
  readonly workloads: readonly WorkloadDigest[];
  /** Named workloads that do not exist, such as "Deployment api". */
  readonly missing: readonly string[];
  readonly unread: readonly UnreadWorkload[];
}

interface UnreadWorkload {
  readonly what: string;
  readonly error: unknown;
}

export async function findWorkloads(
  kube: KubeClient,
  namespace: string,
  { workloadRefs, selector }: Rollout,
  signal: AbortSignal,
): Promise<FoundWorkload> {
  if (workloadRefs === undefined)
    return {
      workloads: await listWorkloads(kube, namespace, selector, signal),
      missing: [],
      unread: [],
    };
  const looked = await Promise.all(
    workloadRefs.map(async ({ kind, name }): Promise<WorkloadDigest | string | UnreadWorkload> => {
      const what = `${kind} ${name}`;
      const reading = readWorkload(kube, kind, { namespace, name }, signal);
      const found = await reading.catch((error: unknown) => ({ what, error }));
      return found ?? what;
    }),
  );
  const others = looked.filter((each) => typeof each !== "string");
  return {
    workloads: others.filter((each) => "uid" in each),
    missing: looked.filter((each) => typeof each === "string"),
    unread: others.filter((each) => "error" in each),
  };
}

type WorkloadKind = NonNullable<Rollout["workloadRefs"]>[number]["kind"];

async function readWorkload(
  kube: KubeClient,
  kind: WorkloadKind,
  key: ObjectKey,
  signal: AbortSignal,
): Promise<WorkloadDigest | undefined> {
  if (kind !== "Rollout") {
    const type = workloadTypes[kind];
    const workload = await kube.get(type, key, { signal });
    return workload && digestWorkload(type, workload);
  }
  const rollout = await kube.get(rolloutType, key, { signal }).catch(absentWithoutItsKind);
  return rollout && digestRollout(rollout, await templateOf(kube, rollout, key, signal));
}

/** If Argo Rollouts is not installed, no Rollout exists. */
function absentWithoutItsKind(error: unknown): undefined {
  if (!isKubeError(error, "NotFound")) throw error;
}

/** The object with the Pod template of a Rollout: the Rollout itself or the Deployment that it names. */
async function templateOf(
  kube: KubeClient,
  rollout: Workload,
  { namespace }: ObjectKey,
  signal: AbortSignal,
): Promise<Workload> {
  const { workloadRef } = rollout.spec ?? {};
  if (workloadRef === undefined) return rollout;
  const { kind, name = "" } = workloadRef;
  const found =
    kind === "Deployment"
      ? await kube.get(workloadTypes.Deployment, { namespace, name }, { signal })
      : undefined;
  if (found !== undefined) return found;
  const message = `its workloadRef names ${kind} ${name}, which is not a Deployment of this namespace.`;
  throw new SpecError("TemplateNotFound", message);
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
  const lists = await settleAll(
    Object.values(workloadTypes).map((type) =>
      kube.collect(type, (workload) => digestWorkload(type, workload), options),
    ),
  );
  return lists.flat();
}

/** One write, the same as `kubectl rollout restart` or `kubectl argo rollouts restart`; the workload does the rest. */
export async function restartWorkload(
  kube: KubeClient,
  { type, key, uid, resourceVersion }: WorkloadDigest,
  content: Content,
  now: Instant,
): Promise<void> {
  const spec = type === rolloutType ? restartAt(content, now) : annotated(content, now);
  await kube.mergePatch(type, key, { metadata: { uid, resourceVersion }, spec });
}

/** At least one second after the change, so that every Pod created before the change is older. */
function restartAt({ replacementTime = 0 }: Content, now: Instant): object {
  return { restartAt: toIso8601(Math.max(now, replacementTime) + SECOND) };
}

function annotated({ apiKey, hash }: Content, now: Instant): object {
  const annotations = { [contentAnnotation(apiKey)]: hash, [names.restartedAt]: toIso8601(now) };
  return { template: { metadata: { annotations } } };
}
