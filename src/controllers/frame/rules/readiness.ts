/** What an outcome and suspension mean for the readiness of an object, the same for every kind. Pure. */
import type { Readiness } from "../../../api/conditions.ts";
import type { Outcome } from "./outcome.ts";

const SUSPENDED: Readiness = {
  state: "Stalled",
  reason: "Suspended",
  message: "spec.suspend is true: nothing is done for this object until it is false.",
};

/** Why an object is not as declared; `undefined` where it is, as far as the run could tell. */
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

/**
 * Suspension as every kind says it, and as GitOps tools read it: an object in use stays Ready; one that cannot be used
 * waits for a person.
 */
export function suspendedReadiness({ state, message }: Readiness): Readiness {
  return state === "Ready"
    ? {
        state,
        reason: "Suspended",
        message: `${message} Nothing is changed while spec.suspend is true.`,
      }
    : SUSPENDED;
}
