import { toError } from "../util/to-error.ts";
import { errorPolicy, notBeforeOf } from "./rules/error-policy.ts";

/**
 * Waits for all promises and returns their results. If any fail, it rejects with the failure that requires the longest
 * pause: a server that rejected a call must not be called again before then, no matter what else failed (L9).
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
