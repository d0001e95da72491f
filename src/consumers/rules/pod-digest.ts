/** The data kept of a Pod that uses Secrets: a few hundred bytes instead of several thousand. */
import { CONTENT_ANNOTATIONS } from "../../api/meta.ts";
import type { ContainerStatus, Pod } from "../../kube/resource-types.ts";
import { type SecretUse, secretUses } from "../../kube/secret-uses.ts";
import { type Instant, parseInstant } from "../../util/time.ts";

export interface PodDigest {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAt: Instant;
  /** The versions for which the Pod's template was last restarted, by annotation. */
  readonly contents: Readonly<Record<string, string>>;
  readonly uses: readonly DatedUse[];
}

export interface DatedUse extends SecretUse {
  readonly run: ContainerRun;
}

/** Whether the container can have a version of the Secret now, and since when. */
type ContainerRun =
  | { readonly kind: "Waiting" }
  | { readonly kind: "Started"; readonly at: Instant }
  /** The container has ended and left nothing. */
  | { readonly kind: "Over" };

/** `undefined` for a Pod that uses no Secret. */
export function digestPod({ metadata, spec, status }: Pod): PodDigest | undefined {
  const uses = spec === undefined ? [] : secretUses(spec);
  if (uses.length === 0) return undefined;
  const inits = new Map(status?.initContainerStatuses?.map((each) => [each.name, each]));
  const others = new Map(status?.containerStatuses?.map((each) => [each.name, each]));
  const runOf = ({ container }: SecretUse): ContainerRun => {
    const init = spec?.initContainers?.find(({ name }) => name === container);
    if (init === undefined) return toRun(others.get(container), false);
    return toRun(inits.get(container), init.restartPolicy !== "Always");
  };
  return {
    name: metadata.name,
    labels: metadata.labels ?? {},
    createdAt: parseInstant(metadata.creationTimestamp) ?? 0,
    contents: Object.fromEntries(
      Object.entries(metadata.annotations ?? {}).filter(([key]) =>
        key.startsWith(CONTENT_ANNOTATIONS),
      ),
    ),
    uses: uses.map((use) => ({ ...use, run: runOf(use) })),
  };
}

/** The result of an init container outlives the container, so it counts as started even after its end. */
function toRun(status: ContainerStatus | undefined, outlives: boolean): ContainerRun {
  const { running, terminated } = status?.state ?? {};
  if (running !== undefined) return { kind: "Started", at: parseInstant(running.startedAt) ?? 0 };
  if (terminated === undefined) return { kind: "Waiting" };
  return outlives
    ? { kind: "Started", at: parseInstant(terminated.startedAt) ?? 0 }
    : { kind: "Over" };
}
