import { type IamErrorCode, isIamError } from "../../console/errors.ts";
import { isKubeError, type KubeErrorCode } from "../../kube/errors.ts";
import type { ErrorOutcome } from "../../runtime/result.ts";
import { MINUTE } from "../../util/time.ts";
import { SpecError, StatusUnanswered, StatusWriteFailed, UrgentFailure } from "../errors.ts";

type ErrorOutcomeKind = ErrorOutcome["kind"];

const iamOutcomes: Readonly<Record<IamErrorCode, ErrorOutcomeKind>> = {
  Unauthenticated: "SlowRetry",
  PermissionDenied: "Terminal",
  NotFound: "Terminal",
  AlreadyExists: "Retry",
  InvalidArgument: "Terminal",
  RateLimited: "Retry",
  FailedPrecondition: "SlowRetry",
  Unavailable: "Retry",
  Timeout: "Retry",
  MalformedResponse: "Retry",
  ChangeNotApplied: "Retry",
  MfaRequired: "SlowRetry",
  LoginPaused: "SlowRetry",
};

const kubeOutcomes: Readonly<Record<KubeErrorCode, ErrorOutcomeKind>> = {
  Unauthenticated: "Retry",
  // An API server that has just started denies requests that it allows a moment later.
  Forbidden: "Retry",
  NotFound: "Retry",
  AlreadyExists: "Retry",
  Conflict: "Conflict",
  Gone: "Retry",
  Invalid: "Terminal",
  BadRequest: "Terminal",
  RateLimited: "Retry",
  Unavailable: "Retry",
  Timeout: "Retry",
  MalformedResponse: "Retry",
  NotLeading: "Retry",
};

/** A console replica that is behind may not know a new resource yet: a NotFound is retried after this long. */
export const UNKNOWN_RESYNC_MS = 5 * MINUTE;

/**
 * What follows a failed run, by the error's code and never by its text. An unknown error is a bug and retried slowly.
 */
export function errorPolicy(error: unknown): ErrorOutcome {
  if (error instanceof UrgentFailure) {
    const failure = errorPolicy(error.cause);
    return failure.kind === "Retry" ? { ...failure, isUrgent: true } : failure;
  }
  if (error instanceof StatusWriteFailed)
    return later(errorPolicy(error.cause), errorPolicy(error.refusal));
  if (error instanceof StatusUnanswered) return errorPolicy(error.cause);
  if (error instanceof SpecError) return terminal(error.resyncMs);
  if (isIamError(error, "NotFound")) return terminal(UNKNOWN_RESYNC_MS);
  if (isIamError(error)) return outcome(iamOutcomes[error.code], error.retryAt);
  if (isKubeError(error)) return outcome(kubeOutcomes[error.code], error.retryAt);
  return { kind: "SlowRetry" };
}

function terminal(resyncMs: number | undefined): ErrorOutcome {
  return resyncMs === undefined ? { kind: "Terminal" } : { kind: "Terminal", resyncMs };
}

/**
 * The outcome for the failure, but not before its report can be written again. A terminal failure is retried as its
 * failed report requires, because a person must see the failure.
 */
function later(failure: ErrorOutcome, refusal: ErrorOutcome): ErrorOutcome {
  const { kind } = failure.kind === "Terminal" ? refusal : failure;
  const notBefore = Math.max(notBeforeOf(failure), notBeforeOf(refusal));
  return outcome(kind, notBefore === 0 ? undefined : notBefore);
}

/** The time before which nothing must be tried again; 0 if there is none. */
export function notBeforeOf(outcome: ErrorOutcome): number {
  return "notBefore" in outcome ? (outcome.notBefore ?? 0) : 0;
}

function outcome(kind: ErrorOutcomeKind, notBefore: number | undefined): ErrorOutcome {
  return (kind === "Retry" || kind === "SlowRetry") && notBefore !== undefined
    ? { kind, notBefore }
    : { kind };
}
