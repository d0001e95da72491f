import type { Log } from "../../util/log.ts";
import { toError } from "../../util/to-error.ts";

/** A failed run whose report also failed: `cause` is the failure of the run, `refusal` the failure of the report. */
export class StatusWriteFailed extends Error {
  override readonly name = "StatusWriteFailed";
  readonly refusal: unknown;

  constructor(cause: unknown, refusal: unknown) {
    super(toError(cause).message, { cause });
    this.refusal = refusal;
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

/**
 * Reports a failure and returns the error that the run must end with. If the report also fails, it does not hide the
 * failure; but the server that rejected the report may require a longer pause than the failure does (L9).
 */
export async function tryReport(
  cause: unknown,
  report: () => Promise<unknown>,
  log: Pick<Log, "debug">,
): Promise<unknown> {
  try {
    await report();
    return cause;
  } catch (refusal) {
    log.debug({ err: toError(refusal) }, "could not report a failure");
    return new StatusWriteFailed(cause, refusal);
  }
}
