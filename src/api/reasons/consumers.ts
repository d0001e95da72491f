/** Reasons about the Pods that use a Secret. */
import type { Reason } from "./reason.ts";

export const ofConsumers = {
  ConsumersStale: {
    meaning:
      "Pods still use an older version of the Secret: they read it into environment variables, mount it with `subPath`, or wait for the new files, which takes about two minutes.",
    check: "the Pods in the message, and how they use the Secret.",
    fix: "Restart the Pods that the message names, or name their workloads in `spec.rollout`.",
  },
  CountingDisabled: {
    meaning:
      "`rotation.maxOverlapExtension` waits for Pods, but the operator does not count Pods. The rotation waits for the full extension.",
    fix: "Start the operator with `--consumers=count` or `restart` (chart: `consumers.mode`), or remove the extension.",
  },
  RestartsDisabled: {
    meaning:
      "`spec.rollout` names workloads, but the operator is not allowed to restart workloads.",
    fix: "Start the operator with `--consumers=restart` (chart: `consumers.mode`).",
  },
  WorkloadNotFound: {
    meaning: "A workload in `spec.rollout` does not exist in the namespace.",
    fix: "Create the workload that the message names, or correct `spec.rollout`.",
  },
  RestartFailed: {
    meaning: "The API server rejected the restart of a workload.",
    fix: "Fix the cause in the message. The operator retries the restart.",
  },
  IntervalNotOver: {
    meaning: "A workload was restarted less than `spec.rollout.minInterval` ago.",
    fix: "Wait, or lower `spec.rollout.minInterval`.",
  },
  RestartUnderWay: {
    meaning: "A workload of `spec.rollout` was restarted, and some of its Pods are not new yet.",
    fix: "Wait until its Pods are replaced. If that takes long, check the workload: `kubectl rollout status`.",
  },
  NotConverging: {
    meaning: "The workload was restarted, but Pods from before the restart remain.",
    check: "`kubectl rollout status KIND/NAME -n NAMESPACE`: is the rollout paused or stuck?",
    fix: "Fix the rollout.",
  },
} as const satisfies Record<string, Reason>;
