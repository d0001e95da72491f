import { parseHttpDate } from "../../http/retry-after.ts";
import { type Instant, SECOND } from "../../util/time.ts";

/**
 * Seconds by which the console's clock is ahead, assuming that its `Date` is from the middle of the call. `undefined`
 * if the answer has no current date (a cached answer has an `Age` header).
 */
export function measureSkew(
  headers: Readonly<Record<string, string>>,
  sentAt: Instant,
  receivedAt: Instant,
): number | undefined {
  const date = parseHttpDate(headers.date);
  if (date === undefined || headers.age !== undefined) return undefined;
  // A `Date` has whole seconds, so on average the real time is half a second later.
  const aheadMs = date + SECOND / 2 - (sentAt + receivedAt) / 2;
  return aheadMs / SECOND;
}
