/** Objects that are planned for, and not worked on. Pure. */
import { annotations } from "../../../api/meta.ts";
import type { KubeObject } from "../../../kube/resource.ts";
import { MINUTE } from "../../../util/time.ts";
import type { Failed, Outcome } from "./outcome.ts";

export const PLAN_ONLY = "PlanOnly";
/** The console changes without telling anybody. */
const PLAN_AGAIN_MS = 5 * MINUTE;

export function isPlanOnly({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[annotations.planOnly] === "true";
}

/**
 * What a plan comes to: `natural` where the run ended so by reading alone. Whatever is not done waits for a person, so
 * that it is never said to be on its way; but time helps a kind that only reads.
 */
export function plannedOutcome(
  natural: Exclude<Outcome, Failed> | undefined,
  calls: number,
  isReader = false,
): Outcome {
  if (natural === undefined)
    return {
      kind: "Waiting",
      state: "Stalled",
      reason: PLAN_ONLY,
      message: `The operator only plans for this object: ${planned(calls)} Remove the annotation ${annotations.planOnly}, or --read-only of the operator, to have it done.`,
      afterMs: PLAN_AGAIN_MS,
    };
  return natural.kind === "Waiting" && !isReader ? { ...natural, state: "Stalled" } : natural;
}

function planned(calls: number): string {
  if (calls === 0) return "no call would be made, but it would be recorded as its own.";
  return `status.plan has the ${calls === 1 ? "call" : `${calls} calls`} that it would make.`;
}
