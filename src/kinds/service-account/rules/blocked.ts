/** A cleanup that fails: it is retried until its deadline (L6). */
import type { IamError } from "../../../console/errors.ts";
import { failureReadiness } from "../../../reconciler/rules/failure.ts";
import type { Waiting } from "../../../reconciler/rules/outcome.ts";
import { reconciling, stalled } from "../../../reconciler/rules/waiting.ts";

export interface Blocked {
  readonly kind: "Blocked";
  readonly finding: Waiting;
}

export function blockedBy(finding: Waiting): Blocked {
  return { kind: "Blocked", finding };
}

/** By an error of the console. */
export function blockedByError(error: IamError): Blocked {
  const readiness = failureReadiness(error);
  if (readiness === undefined) throw error;
  const { state, reason, message } = readiness;
  return blockedBy((state === "Stalled" ? stalled : reconciling)(reason, message));
}
