/**
 * The data kept of a workload: the Secrets that its Pods read at their start, and the versions it was restarted for.
 */
import { annotations as names } from "../../api/meta.ts";
import type { ObjectKey, ResourceType } from "../../kube/resource.ts";
import { type LabelSelector, rolloutType, type Workload } from "../../kube/resource-types.ts";
import { secretUses } from "../../kube/secret-uses.ts";
import { type Instant, parseInstant } from "../../util/time.ts";

export interface WorkloadDigest {
  readonly type: ResourceType<Workload>;
  readonly key: ObjectKey;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly selector: LabelSelector;
  /** The annotations of the Pod template; none for a Rollout, whose restart does not use annotations. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly restartedAt: Instant | undefined;
  /** The names of Secrets that its Pods read only at their start. */
  readonly readsAtStart: readonly string[];
}

export function digestWorkload(
  type: ResourceType<Workload>,
  { metadata, spec }: Workload,
): WorkloadDigest {
  const { name, namespace = "", uid = "", resourceVersion = "" } = metadata;
  const { selector, template } = spec ?? {};
  const annotations = template?.metadata?.annotations ?? {};
  const uses = template?.spec === undefined ? [] : secretUses(template.spec);
  return {
    type,
    key: { namespace, name },
    uid,
    resourceVersion,
    // An absent selector would match every Pod; this selector matches none.
    selector: selector ?? { matchExpressions: [{ key: "", operator: "Exists" }] },
    annotations,
    restartedAt: parseInstant(annotations[names.restartedAt]),
    readsAtStart: uses.filter(({ atStart }) => atStart).map(({ secret }) => secret),
  };
}

/** `template` is the Rollout itself or the Deployment that provides its Pod template. */
export function digestRollout({ metadata, spec }: Workload, template: Workload): WorkloadDigest {
  return {
    ...digestWorkload(rolloutType, { ...template, metadata }),
    annotations: {},
    restartedAt: parseInstant(spec?.restartAt ?? undefined),
  };
}
