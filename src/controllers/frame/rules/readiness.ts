/** How the outcome of a run and suspension determine the readiness of an object, the same for every kind. Pure. */
import type { Readiness } from "../../../api/conditions.ts";
import type { Outcome } from "./outcome.ts";

const SUSPENDED: Readiness = {
  state: "Stalled",
  reason: "Suspended",
  message: "spec.suspend is true: nothing is done for this object until it is false.",
};

/** Why an object is not as declared; `undefined` if it is as declared, as far as the run knows. */
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
 * How every kind reports suspension, in the form that GitOps tools read: a usable object stays Ready; an unusable
 * object waits for a person.
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
