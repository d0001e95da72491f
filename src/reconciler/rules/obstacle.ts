/** Why an object is not as declared. Pure. */
import type { Readiness } from "../../api/conditions.ts";
import type { Outcome } from "./outcome.ts";

export const SUSPENDED: Readiness = {
  state: "Stalled",
  reason: "Suspended",
  message: "spec.suspend is true: nothing is done for this object until it is false.",
};

/** The obstacle that an outcome describes; `undefined` if the object is as declared, as far as the run knows. */
export function obstacleOf(outcome: Outcome): Readiness | undefined {
  switch (outcome.kind) {
    case "Failed":
      return outcome.readiness;
    case "Waiting": {
      const { state, reason, message } = outcome;
      return { state, reason, message };
    }
    case "Suspended":
      return SUSPENDED;
    case "Settled":
      return undefined;
  }
}
