/** Conditions about the Pods that use the Secret, and the rules that wait for these Pods. Pure. */
import type { ApiKeyStatus } from "../../../api/api-key.ts";
import { type ConditionUpdate, findCondition } from "../../../api/conditions.ts";
import type { Consumers } from "../../../consumers/board.ts";
import type { KindCondition } from "../../../reconciler/rules/report.ts";
import type { ApiKeySnapshot } from "./snapshot.ts";

type StatusContent = ApiKeyStatus["content"];

/** What is known about the Pods for this version of the Secret. */
function knownOf({ consumers }: ApiKeySnapshot, content: StatusContent): Consumers | undefined {
  const { known } = consumers;
  return known?.kind === "Counted" && known.hash !== content?.hash ? undefined : known;
}

/**
 * The last count for this version of the Secret. A count without stale Pods stays true, so an earlier count is enough.
 */
export function countOf(
  snapshot: ApiKeySnapshot,
  content: StatusContent,
): ApiKeyStatus["consumers"] {
  if (snapshot.consumers.mode === "none" || content === undefined) return undefined;
  const known = knownOf(snapshot, content);
  if (known?.kind === "Counted") return { pods: known.pods, stale: known.stale };
  const { status } = snapshot.object;
  return status?.content?.hash === content.hash ? status.consumers : undefined;
}

/** Whether it is certain that no Pod uses an older version of the Secret. */
export function isConverged(snapshot: ApiKeySnapshot): boolean {
  return countOf(snapshot, snapshot.object.status?.content)?.stale === 0;
}

/** A condition without a value is removed. */
export function consumerConditions(
  snapshot: ApiKeySnapshot,
  content: StatusContent,
): readonly KindCondition[] {
  return [
    current(snapshot, content) ?? { type: "ConsumersCurrent" },
    rolledOut(snapshot, content) ?? { type: "RolledOut" },
  ];
}

function current(snapshot: ApiKeySnapshot, content: StatusContent): ConditionUpdate | undefined {
  const { consumers, spec } = snapshot;
  const type = "ConsumersCurrent";
  const unknown = (reason: string, message: string) =>
    ({ type, status: "Unknown", reason, message }) as const;
  if (consumers.mode === "none")
    return spec.rotation.maxOverlapExtension === undefined
      ? undefined
      : unknown(
          "CountingDisabled",
          "The operator does not count Pods, so each overlap is extended by the whole maxOverlapExtension; start the operator with --consumers=count.",
        );
  if (content === undefined) return undefined;
  const known = knownOf(snapshot, content);
  if (known === undefined)
    return (
      lastCondition(snapshot, type, content) ?? unknown("Counting", "The Pods are being counted.")
    );
  if (known.kind === "Unknown") return unknown(known.reason, known.message);
  const { pods, stale, staleNames } = known;
  if (stale === 0)
    return {
      type,
      status: "True",
      reason: "AllCurrent",
      message: "No Pod is on an older content of the Secret.",
    };
  const others = stale > staleNames.length ? ` and ${stale - staleNames.length} more` : "";
  return {
    type,
    status: "False",
    reason: "ConsumersStale",
    message: `${stale} of ${pods} Pods still use an older version of the Secret: ${staleNames.join(", ")}${others}.`,
  };
}

function rolledOut(snapshot: ApiKeySnapshot, content: StatusContent): ConditionUpdate | undefined {
  const { consumers, spec } = snapshot;
  const type = "RolledOut";
  if (spec.rollout === undefined) return undefined;
  if (consumers.mode !== "restart")
    return {
      type,
      status: "False",
      reason: "RestartsDisabled",
      message: "The operator restarts no workloads; start it with --consumers=restart.",
    };
  const known = knownOf(snapshot, content);
  if (known?.kind !== "Counted" || known.rollout === undefined)
    return lastCondition(snapshot, type, content);
  const { isDone, reason, message } = known.rollout;
  return { type, status: isDone ? "True" : "False", reason, message };
}

/**
 * After the operator starts, the last condition stays until there is a new result for the same version of the Secret.
 */
function lastCondition(
  { object: { status } }: ApiKeySnapshot,
  type: string,
  content: StatusContent,
): ConditionUpdate | undefined {
  if (status?.content?.hash !== content?.hash) return undefined;
  return findCondition(status?.conditions, type);
}
