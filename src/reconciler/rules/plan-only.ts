/** Objects for which the operator only plans. Pure. */
import { annotations } from "../../api/meta.ts";
import { MINUTE } from "../../util/time.ts";
import type { Failed, Outcome } from "./outcome.ts";

export const PLAN_ONLY = "PlanOnly";
export const ONLY_PLANS = "The operator only plans for this object";
/** The console does not report its changes, so the operator plans again after this long. */
const PLAN_AGAIN_MS = 5 * MINUTE;

const UNTIL = `the annotation ${annotations.planOnly}, or --read-only of the operator`;

/**
 * The outcome of a plan: `natural` if the run ended that way by reading alone. Everything not done waits for a person,
 * so the state is never Reconciling, and the message says so; except for a kind that only reads, which time can help.
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
      message: `${ONLY_PLANS}: ${planned(calls)} Remove ${UNTIL}, to have the plan carried out.`,
      afterMs: PLAN_AGAIN_MS,
    };
  if (natural.kind !== "Waiting" || isReader) return natural;
  const message = `${natural.message} ${ONLY_PLANS}: nothing of that is done before you remove ${UNTIL}.`;
  return { ...natural, state: "Stalled", message };
}

function planned(calls: number): string {
  if (calls === 0) return "no call would be made, but it would be recorded as its own.";
  return `status.plan has the ${calls === 1 ? "call" : `${calls} calls`} that it would make.`;
}
