/** Carries out spec.rollout: restarts the workloads that are due and reports the result. */

import type { Context } from "../reconciler/context.ts";
import { failureReadiness } from "../reconciler/rules/failure.ts";
import { parseDuration } from "../util/time.ts";
import type { RolloutNote } from "./board.ts";
import { type Content, judgeWorkload } from "./rules/decide.ts";
import type { PodDigest } from "./rules/pod-digest.ts";
import type { WorkloadDigest } from "./rules/workload-digest.ts";
import { findWorkloads, type Rollout, restartWorkload } from "./workloads.ts";

/** The result for one workload. */
type WorkloadOutcome =
  | { readonly kind: "Nothing"; readonly what: string }
  | { readonly kind: "Restarted"; readonly what: string }
  | { readonly kind: "UnderWay"; readonly what: string }
  | { readonly kind: "Stuck"; readonly what: string }
  | { readonly kind: "Waits"; readonly what: string; readonly until: number }
  | { readonly kind: "Missing"; readonly what: string }
  | { readonly kind: "Failed"; readonly what: string; readonly error: unknown };

export interface RolloutResult {
  readonly note: RolloutNote;
  /** Workloads restarted in this run, such as "Deployment api". */
  readonly restarted: readonly string[];
  /** When a workload may be restarted again. */
  readonly until?: number;
  /** The first failure, for the queue. */
  readonly error?: unknown;
}

interface RolloutOrder {
  readonly namespace: string;
  readonly rollout: Rollout;
  readonly content: Content;
  readonly pods: readonly PodDigest[];
}

/** Never rejects: a workload that cannot be restarted does not prevent the restart of other workloads. */
export async function rollOut(
  context: Context,
  order: RolloutOrder,
  signal: AbortSignal,
): Promise<RolloutResult> {
  const outcomes = await outcomesOf(context, order, signal).catch(
    (error: unknown): readonly WorkloadOutcome[] => [
      { kind: "Failed", what: "spec.rollout", error },
    ],
  );
  const waits = ofKind(outcomes, "Waits").map(({ until }) => until);
  const [failed] = ofKind(outcomes, "Failed");
  return {
    note: noteOf(outcomes),
    restarted: ofKind(outcomes, "Restarted").map(({ what }) => what),
    ...(waits.length === 0 ? {} : { until: Math.min(...waits) }),
    ...(failed === undefined ? {} : { error: failed.error }),
  };
}

async function outcomesOf(
  context: Context,
  { namespace, rollout, content, pods }: RolloutOrder,
  signal: AbortSignal,
): Promise<readonly WorkloadOutcome[]> {
  const { workloads, missing, unread } = await findWorkloads(
    context.kube,
    namespace,
    rollout,
    signal,
  );
  const minIntervalMs = parseDuration(rollout.minInterval) ?? 0;
  const outcomes: WorkloadOutcome[] = [
    ...missing.map((what) => ({ kind: "Missing", what }) as const),
    ...unread.map((each) => ({ kind: "Failed", ...each }) as const),
  ];
  for (const workload of workloads) {
    const now = context.clock.now();
    const what = `${workload.type.kind} ${workload.key.name}`;
    const judgement = judgeWorkload(workload, { content, pods, minIntervalMs, now });
    if (judgement.kind === "Wait") outcomes.push({ kind: "Waits", what, until: judgement.until });
    else if (judgement.kind === "Restart")
      outcomes.push(await restart(context, workload, content, what));
    else outcomes.push({ kind: judgement.kind, what });
  }
  return outcomes;
}

async function restart(
  { kube, clock }: Context,
  workload: WorkloadDigest,
  content: Content,
  what: string,
): Promise<WorkloadOutcome> {
  try {
    await restartWorkload(kube, workload, content, clock.now());
    return { kind: "Restarted", what };
  } catch (error) {
    return { kind: "Failed", what, error };
  }
}

/** The most important result for a person. */
function noteOf(outcomes: readonly WorkloadOutcome[]): RolloutNote {
  const [failed] = ofKind(outcomes, "Failed");
  if (failed !== undefined)
    return open("RestartFailed", `${failed.what}: ${wordsOf(failed.error)}`);
  const missing = ofKind(outcomes, "Missing");
  if (missing.length > 0)
    return open("WorkloadNotFound", `${names(missing)} not found in this namespace.`);
  const stuck = ofKind(outcomes, "Stuck");
  if (stuck.length > 0)
    return open("NotConverging", `Restarted a while ago, yet older Pods remain: ${names(stuck)}.`);
  const waits = ofKind(outcomes, "Waits");
  if (waits.length > 0)
    return open("IntervalNotOver", `Not restarted before minInterval is over: ${names(waits)}.`);
  const underWay = [...ofKind(outcomes, "Restarted"), ...ofKind(outcomes, "UnderWay")];
  if (underWay.length > 0)
    return open(
      "RestartUnderWay",
      `Restarted, with Pods from before still there: ${names(underWay)}.`,
    );
  return {
    isDone: true,
    reason: "NothingToRestart",
    message: `None of the workloads (${outcomes.length}) has Pods that need a restart.`,
  };
}

function open(reason: string, message: string): RolloutNote {
  return { isDone: false, reason, message };
}

function ofKind<Kind extends WorkloadOutcome["kind"]>(
  outcomes: readonly WorkloadOutcome[],
  kind: Kind,
) {
  return outcomes.filter(
    (outcome): outcome is Extract<WorkloadOutcome, { kind: Kind }> => outcome.kind === kind,
  );
}

function names(outcomes: readonly WorkloadOutcome[]): string {
  return outcomes.map(({ what }) => what).join(", ");
}

function wordsOf(error: unknown): string {
  return failureReadiness(error)?.message ?? "it was changed in the meantime.";
}
