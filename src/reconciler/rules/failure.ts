import type { Readiness } from "../../api/conditions.ts";
import { type IamError, type IamErrorCode, isIamError } from "../../console/errors.ts";
import { isKubeError, type KubeError } from "../../kube/errors.ts";
import { ended } from "../../util/ended.ts";
import { RunTimedOut } from "../../util/run-timed-out.ts";
import { SpecError, StatusUnanswered } from "../errors.ts";
import { errorPolicy } from "./error-policy.ts";

/** What a person can do about an error of the console; no entry if only time helps. */
const advice: Partial<Readonly<Record<IamErrorCode, string>>> = {
  Unauthenticated: "Check the credentials Secret of the connection.",
  PermissionDenied:
    "Ask the console's administrator to allow the refused call to the connection's user.",
  InvalidArgument: "Correct the spec.",
  MfaRequired: "Use a user without a second factor, or a token.",
};

/**
 * The readiness of an object after a failed run: Stalled if only a change by a person helps, Reconciling if the queue
 * tries again. `undefined` for a write conflict, which is not relevant to users, for a status that may already be
 * stored, and if the API server limits requests: reporting that would need another write (L9).
 */
export function failureReadiness(error: unknown): Readiness | undefined {
  if (error instanceof StatusUnanswered) return undefined;
  const { kind } = errorPolicy(error);
  if (kind === "Conflict" || isKubeError(error, "RateLimited")) return undefined;
  return { state: kind === "Terminal" ? "Stalled" : "Reconciling", ...describe(error) };
}

/** The readiness after a run that was stopped because it took too long. */
export function timedOutReadiness(readiness: Readiness): Readiness {
  const { state, reason, message } = readiness;
  if (state === "Stalled") return readiness;
  const last = reason === TIMED_OUT.reason ? "" : ` Its last error: ${message}`;
  return { ...TIMED_OUT, message: `${TIMED_OUT.message}${last}` };
}

const TIMED_OUT: Readiness = {
  state: "Reconciling",
  reason: "ReconcileTimedOut",
  message:
    "A reconcile of this object took more than two minutes, so the operator stopped it. It tries again.",
};

function describe(error: unknown): { reason: string; message: string } {
  if (error instanceof SpecError) return { reason: error.reason, message: error.message };
  if (error instanceof RunTimedOut) return TIMED_OUT;
  if (isIamError(error)) return { reason: error.code, message: iamMessage(error) };
  if (isKubeError(error)) return { reason: error.code, message: kubeMessage(error) };
  return {
    reason: "InternalError",
    message: "The operator ran into an unexpected error; its log has the details.",
  };
}

/** The error's own message names the call and the status. */
function iamMessage(error: IamError): string {
  const message = `A call to the console failed: ${ended(error.message)}${adviceOn(error)}`;
  return withRequestId(message, error);
}

/** The text, and the ID by which the console's administrator finds the call, unless the text contains it. */
export function withRequestId(text: string, { requestId }: Pick<IamError, "requestId">): string {
  return requestId === undefined || text.includes(requestId)
    ? text
    : `${text} (requestId ${requestId})`;
}

function adviceOn({ code, login, operation }: IamError): string {
  if (login === "Accepted")
    return ` The console accepts the login. Ask the console's administrator why ${operation} is rejected.`;
  if (login === "Unknown") return " The call is tried again.";
  return advice[code] === undefined ? "" : ` ${advice[code]}`;
}

function kubeMessage(error: KubeError): string {
  return `The Kubernetes API answered ${error.code}: ${ended(error.message)}`;
}
