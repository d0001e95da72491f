/** Which Pods use an older version of a Secret, and which workloads must be restarted because of that. Pure. */

import { contentAnnotation } from "../../api/meta.ts";
import { matchesLabels } from "../../kube/match-labels.ts";
import { rolloutType } from "../../kube/resource-types.ts";
import { CLOCK_TOLERANCE_MS } from "../../util/agreed-time.ts";
import { ownEntry } from "../../util/own-entry.ts";
import { type Instant, MINUTE } from "../../util/time.ts";
import type { DatedUse, PodDigest } from "./pod-digest.ts";
import type { WorkloadDigest } from "./workload-digest.ts";

/**
 * The longest time after the change of a Secret during which a kubelet may still use the previous version: its sync
 * period of one minute, sometimes half as long again, plus the start of a container whose variables were already read.
 */
const PICK_UP_MS = 2 * MINUTE;

/** After this long, a restart that has not replaced every Pod is reported. */
const PATIENCE_MS = 15 * MINUTE;

/** The current version of an ApiKey's Secret. */
export interface Content {
  readonly apiKey: string;
  readonly secret: string;
  readonly hash: string;
  /** When it replaced the previous version, rounded down to a second; `undefined` for the first version. */
  readonly replacementTime: Instant | undefined;
}

/** Pods that use the Secret. */
export function consumersOf(pods: readonly PodDigest[], { secret }: Content): readonly PodDigest[] {
  return pods.filter(({ uses }) => uses.some((use) => use.secret === secret));
}

/**
 * Whether a Pod may use an older version. Once no Pod is stale, none becomes stale: a Pod created later reads the
 * current version. If the times are ambiguous, the Pod counts as stale.
 */
export function isStale(pod: PodDigest, content: Content, now: Instant): boolean {
  return isOlder(pod, content) && usesOf(pod, content).some((use) => lags(use, content, now));
}

/**
 * Whether only a restart brings the Pod up to date. A container that has not started yet will read the Secret anyway.
 */
export function needsRestart(pod: PodDigest, content: Content, now: Instant): boolean {
  return (
    isOlder(pod, content) &&
    usesOf(pod, content).some(
      (use) => use.atStart && use.run.kind === "Started" && lags(use, content, now),
    )
  );
}

/** Whether the Pod is older than the version. A Pod restarted for this version never is, even if the clocks differ. */
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

type Judgement =
  | { readonly kind: "Nothing" }
  | { readonly kind: "Restart" }
  /** The workload was restarted for this version; older Pods still exist. */
  | { readonly kind: "UnderWay" }
  /** As `UnderWay`, but for longer than a rollout should take. */
  | { readonly kind: "Stuck" }
  | { readonly kind: "Wait"; readonly until: Instant };

interface RestartInputs {
  readonly content: Content;
  readonly pods: readonly PodDigest[];
  readonly minIntervalMs: number;
  readonly now: Instant;
}

/** A workload is restarted once per version, and only while its Pods need a restart. */
export function judgeWorkload(
  stored: WorkloadDigest,
  { content, pods, minIntervalMs, now }: RestartInputs,
): Judgement {
  const workload = { ...stored, restartedAt: restartTime(stored, content, now) };
  const { readsAtStart, selector, restartedAt } = workload;
  if (!readsAtStart.includes(content.secret)) return { kind: "Nothing" };
  const needed = pods.some(
    (pod) => matchesLabels(selector, pod.labels) && needsRestart(pod, content, now),
  );
  if (!needed) return { kind: "Nothing" };
  if (isRestartedFor(workload, content))
    return { kind: now > (restartedAt ?? now) + PATIENCE_MS ? "Stuck" : "UnderWay" };
  if (restartedAt === undefined) return { kind: "Restart" };
  // Never longer than the interval, even if the clock was set back.
  const waitMs = Math.min(restartedAt + minIntervalMs - now, minIntervalMs);
  return waitMs > 0 ? { kind: "Wait", until: now + waitMs } : { kind: "Restart" };
}

/**
 * A restart in the future was recorded by a clock that ran ahead: it counts as made before this version, with which it
 * would be recorded otherwise. A Rollout, however, can name a restart that is yet to come.
 */
function restartTime(
  { type, restartedAt }: WorkloadDigest,
  { replacementTime = 0 }: Content,
  now: Instant,
): Instant | undefined {
  if (type === rolloutType || restartedAt === undefined) return restartedAt;
  return restartedAt > now + CLOCK_TOLERANCE_MS ? replacementTime : restartedAt;
}

/** A Rollout records only the time of its restart and not the version of the Secret. */
function isRestartedFor(
  { type, annotations, restartedAt = 0 }: WorkloadDigest,
  { apiKey, hash, replacementTime = 0 }: Content,
): boolean {
  return type === rolloutType
    ? restartedAt > replacementTime
    : ownEntry(annotations, contentAnnotation(apiKey)) === hash;
}
