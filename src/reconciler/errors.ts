/** Errors of a run that neither server answers. */
import { toError } from "../util/to-error.ts";

/** A problem of an object that only its author can correct. Reported as `Stalled`. */
export class SpecError extends Error {
  override readonly name = "SpecError";
  /** One CamelCase word. */
  readonly reason: string;
  /** When to check again, in milliseconds, if the problem may disappear sooner than the usual half hour. */
  readonly resyncMs: number | undefined;

  constructor(reason: string, message: string, resyncMs?: number) {
    super(message);
    this.reason = reason;
    this.resyncMs = resyncMs;
  }
}

/** A failed run whose report also failed: `cause` is the failure of the run, `refusal` the failure of the report. */
export class StatusWriteFailed extends Error {
  override readonly name = "StatusWriteFailed";
  readonly refusal: unknown;

  constructor(cause: unknown, refusal: unknown) {
    super(toError(cause).message, { cause });
    this.refusal = refusal;
  }
}

/** A failed run that had to withdraw permissions, or to end a deletion: it is retried sooner. `cause` is the failure. */
export class UrgentFailure extends Error {
  override readonly name = "UrgentFailure";

  constructor(cause: unknown) {
    super(toError(cause).message, { cause });
  }
}

/**
 * The answer to a status write was lost, so the status may be stored. The failure is not reported: the report would be
 * another status, computed from data older than the first status.
 */
export class StatusUnanswered extends Error {
  override readonly name = "StatusUnanswered";

  constructor(cause: Error) {
    super(cause.message, { cause });
  }
}
