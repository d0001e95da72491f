import { commitOutcome } from "../../console/errors.ts";
import { describeError } from "../cli/describe-error.ts";
import { Failure } from "../cli/errors.ts";

/** If a failed call may have taken effect, throws Failure, which says so and how to find out. */
export async function explainUncertainOutcome<T>(
  call: Promise<T>,
  howToFindOut: string,
): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (commitOutcome(error) === "NotCommitted") throw error;
    throw new Failure(
      `${describeError(error).message}. The change possibly took effect: ${howToFindOut}`,
    );
  }
}
