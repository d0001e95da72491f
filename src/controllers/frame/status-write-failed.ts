import type { Log } from "../../util/log.ts";
import { toError } from "../../util/to-error.ts";

/** A failed run whose report failed as well: `cause` is the failure of the run, `refusal` that of the report. */
export class StatusWriteFailed extends Error {
  override readonly name = "StatusWriteFailed";
  readonly refusal: unknown;

  constructor(cause: unknown, refusal: unknown) {
    super(toError(cause).message, { cause });
    this.refusal = refusal;
  }
}

/**
 * The answer to a status write was lost, so that it may be stored. Nothing is told about it: that would be another
 * status, made from what was known before the first one.
 */
export class StatusUnanswered extends Error {
  override readonly name = "StatusUnanswered";

  constructor(cause: Error) {
    super(cause.message, { cause });
  }
}

/**
 * Reports a failure, and answers the error that the run should end with. A report that fails as well does not hide the
 * failure; but what refused it may want to be left alone for longer than the failure itself would last (L9).
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
