/** What is said about the Pods that use the Secret, and what waits for them. Pure. */
import type { ApiKeyStatus } from "../../api/api-key.ts";
import { type Condition, findCondition } from "../../api/conditions.ts";
import type { Consumers } from "../consumers-board.ts";
import type { Observed } from "./observed.ts";

type Update = Pick<Condition, "type" | "status" | "reason" | "message">;

/** Conditions that are about consumers, and what they say; `undefined` where there is nothing to say. */
export type ConsumerConditions = Readonly<
  Record<"ConsumersCurrent" | "RolledOut", Update | undefined>
>;

/** What the board knows about this content. */
function knownOf({ consumers }: Observed, content: ApiKeyStatus["content"]): Consumers | undefined {
  const { known } = consumers;
  return known?.kind === "Counted" && known.hash !== content?.hash ? undefined : known;
}

/** The last count of this content. That nobody is behind stays true, so that an earlier count will do. */
export function countOf(
  seen: Observed,
  content: ApiKeyStatus["content"],
): ApiKeyStatus["consumers"] {
  if (seen.consumers.mode === "none" || content === undefined) return undefined;
  const known = knownOf(seen, content);
  if (known?.kind === "Counted") return { pods: known.pods, stale: known.stale };
  const { status } = seen.object;
  return status?.content?.hash === content.hash ? status.consumers : undefined;
}

/** Whether it is certain that no Pod is on an older content of the Secret. */
export function isConverged(seen: Observed): boolean {
  return countOf(seen, seen.object.status?.content)?.stale === 0;
}

export function consumerConditions(
  seen: Observed,
  content: ApiKeyStatus["content"],
): ConsumerConditions {
  return { ConsumersCurrent: current(seen, content), RolledOut: rolledOut(seen, content) };
}

function current(seen: Observed, content: ApiKeyStatus["content"]): Update | undefined {
  const { consumers, spec } = seen;
  const type = "ConsumersCurrent";
  const unknown = (reason: string, message: string) =>
    ({ type, status: "Unknown", reason, message }) as const;
  if (consumers.mode === "none")
    return spec.rotation.maxOverlapExtension === undefined
      ? undefined
      : unknown(
          "CountingDisabled",
          "The operator does not count Pods, so that rotation.maxOverlapExtension is waited for to its end; start it with --consumers=count.",
        );
  if (content === undefined) return undefined;
  const known = knownOf(seen, content);
  if (known === undefined)
    return kept(seen, type, content) ?? unknown("Counting", "The Pods are being counted.");
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
    message: `${stale} of ${pods} Pods that use the Secret are on an older content of it: ${staleNames.join(", ")}${others}.`,
  };
}

function rolledOut(seen: Observed, content: ApiKeyStatus["content"]): Update | undefined {
  const { consumers, spec } = seen;
  const type = "RolledOut";
  if (spec.rollout === undefined) return undefined;
  if (consumers.mode !== "restart")
    return {
      type,
      status: "False",
      reason: "RestartsDisabled",
      message: "The operator restarts no workloads; start it with --consumers=restart.",
    };
  const known = knownOf(seen, content);
  if (known?.kind !== "Counted" || known.rollout === undefined) return kept(seen, type, content);
  const { isDone, reason, message } = known.rollout;
  return { type, status: isDone ? "True" : "False", reason, message };
}

/** After a start of the operator the last word stays until there is another one about the same content. */
function kept(
  { object: { status } }: Observed,
  type: string,
  content: ApiKeyStatus["content"],
): Update | undefined {
  if (status?.content?.hash !== content?.hash) return undefined;
  return findCondition(status?.conditions, type);
}
