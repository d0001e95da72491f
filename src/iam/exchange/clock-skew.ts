import { parseHttpDate } from "../../http/retry-after.ts";
import { type Instant, SECOND } from "../../util/time.ts";

/**
 * How many seconds the console's clock is ahead, taking its `Date` for the middle of the call; `undefined` where
 * the answer has no date of its own (a cached one carries `Age`).
 */
export function measureSkew(
  headers: Readonly<Record<string, string>>,
  sentAt: Instant,
  receivedAt: Instant,
): number | undefined {
  const date = parseHttpDate(headers.date);
  if (date === undefined || headers.age !== undefined) return undefined;
  // A date has whole seconds: on average half a second has passed since.
  const aheadMs = date + SECOND / 2 - (sentAt + receivedAt) / 2;
  return aheadMs / SECOND;
}
