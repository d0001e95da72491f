/** Which Pods are on an older content of a Secret, and which workloads are to be restarted for it. Pure. */

import { contentAnnotation } from "../../api/meta.ts";
import { matchesLabels } from "../../kube/match-labels.ts";
import { rolloutType } from "../../kube/resource-types.ts";
import { ownEntry } from "../../util/own-entry.ts";
import { type Instant, MINUTE } from "../../util/time.ts";
import type { DatedUse, PodDigest } from "./pod-digest.ts";
import type { WorkloadDigest } from "./workload-digest.ts";

/**
 * How long a kubelet may take from the change of a Secret to its last trace of the content before: its sync
 * period of a minute, by half longer at times, and the start of a container that had read its variables.
 */
const PICK_UP_MS = 2 * MINUTE;

/** After this long, a restart that has not replaced every Pod is pointed out. */
const PATIENCE_MS = 15 * MINUTE;

/** What a Secret of an ApiKey holds. */
export interface Content {
  readonly apiKey: string;
  readonly secret: string;
  readonly hash: string;
  /** When it took the place of another content, rounded down to a second; `undefined` for the first one. */
  readonly replacementTime: Instant | undefined;
}

/** Pods that use the Secret. */
export function consumersOf(pods: readonly PodDigest[], { secret }: Content): readonly PodDigest[] {
  return pods.filter(({ uses }) => uses.some((use) => use.secret === secret));
}

/**
 * Whether a Pod may be on an older content. Once none is, none will be: a Pod that is made later reads the
 * present one. Where times leave a doubt, the Pod is stale.
 */
export function isStale(pod: PodDigest, content: Content, now: Instant): boolean {
  return isOlder(pod, content) && usesOf(pod, content).some((use) => lags(use, content, now));
}

/** Whether only a restart brings the Pod up to date. What has not started yet has still to read the Secret. */
export function needsRestart(pod: PodDigest, content: Content, now: Instant): boolean {
  return (
    isOlder(pod, content) &&
    usesOf(pod, content).some(
      (use) => use.atStart && use.run.kind === "Started" && lags(use, content, now),
    )
  );
}

/** Whether the Pod was made before the content came. Restarted for it, it is younger, whatever the clocks say. */
function isOlder({ createdAt, contents }: PodDigest, content: Content): boolean {
  const { apiKey, hash, replacementTime } = content;
  if (replacementTime === undefined || ownEntry(contents, contentAnnotation(apiKey)) === hash)
    return false;
  return createdAt <= replacementTime;
}

function usesOf({ uses }: PodDigest, { secret }: Content): readonly DatedUse[] {
  return uses.filter((use) => use.secret === secret);
}

function lags({ atStart, run }: DatedUse, { replacementTime = 0 }: Content, now: Instant): boolean {
  const pickedUpAt = replacementTime + PICK_UP_MS;
  if (run.kind === "Over") return false;
  return atStart && run.kind === "Started" ? run.at <= pickedUpAt : now <= pickedUpAt;
}

export type Judgement =
  | { readonly kind: "Nothing" }
  | { readonly kind: "Restart" }
  /** Restarted for this content; Pods from before are still there. */
  | { readonly kind: "UnderWay" }
  /** The same, for longer than a rollout should take. */
  | { readonly kind: "Stuck" }
  | { readonly kind: "Wait"; readonly until: Instant };

export interface RestartInputs {
  readonly content: Content;
  readonly pods: readonly PodDigest[];
  readonly minIntervalMs: number;
  readonly now: Instant;
}

/** A workload is restarted for a content once, and only while Pods of it need that. */
export function judgeWorkload(
  workload: WorkloadDigest,
  { content, pods, minIntervalMs, now }: RestartInputs,
): Judgement {
  const { readsAtStart, selector, restartedAt } = workload;
  if (!readsAtStart.includes(content.secret)) return { kind: "Nothing" };
  const needed = pods.some(
    (pod) => matchesLabels(selector, pod.labels) && needsRestart(pod, content, now),
  );
  if (!needed) return { kind: "Nothing" };
  if (isRestartedFor(workload, content))
    return { kind: now > (restartedAt ?? now) + PATIENCE_MS ? "Stuck" : "UnderWay" };
  if (restartedAt === undefined) return { kind: "Restart" };
  // Never longer than the interval, also where the clock was set back.
  const waitMs = Math.min(restartedAt + minIntervalMs - now, minIntervalMs);
  return waitMs > 0 ? { kind: "Wait", until: now + waitMs } : { kind: "Restart" };
}

/** A Rollout says since when its Pods have to be there, and not for which content. */
function isRestartedFor(
  { type, annotations, restartedAt = 0 }: WorkloadDigest,
  { apiKey, hash, replacementTime = 0 }: Content,
): boolean {
  return type === rolloutType
    ? restartedAt > replacementTime
    : ownEntry(annotations, contentAnnotation(apiKey)) === hash;
}
