import { toError } from "../../util/to-error.ts";
import { errorPolicy, notBeforeOf } from "./rules/error-policy.ts";

/**
 * What all of them come to. Where some fail, it fails with the one that asks for the longest pause: whoever has refused
 * a call is not to be called again before, whatever else went wrong (L9).
 */
export async function settleAll<const Work extends readonly Promise<unknown>[]>(
  work: Work,
): Promise<{ -readonly [Index in keyof Work]: Awaited<Work[Index]> }> {
  const settled = await Promise.allSettled(work);
  const failures = settled.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
  if (failures.length === 0) return Promise.all(work);
  throw toError(failures.toSorted((a, b) => pauseOf(b) - pauseOf(a))[0]);
}

function pauseOf(failure: unknown): number {
  return notBeforeOf(errorPolicy(failure));
}
