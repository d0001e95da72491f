import { type Instant, MINUTE, parseInstant, SECOND } from "../util/time.ts";

/** A server that asks for more is taken at this: a wrong header must not stop us for long. */
const LONGEST_WAIT_MS = 5 * MINUTE;

/**
 * The moment `Retry-After` names, in our own time and at most five minutes ahead; `undefined` where it names
 * none that lies ahead. A date is read against the answer's own `Date`, where there is one, so that skewed
 * clocks do not matter. `seconds`, where the body says so too, counts if it is later.
 */
export function parseRetryAfter(
  headers: Readonly<Record<string, string>>,
  now: Instant,
  seconds = 0,
): Instant | undefined {
  const waitMs = Math.max(waitMsOf(headers, now), seconds * SECOND);
  const retryAt = now + Math.min(waitMs, LONGEST_WAIT_MS);
  return retryAt > now ? retryAt : undefined;
}

function waitMsOf(headers: Readonly<Record<string, string>>, now: Instant): number {
  const text = headers["retry-after"]?.trim() ?? "";
  if (/^[0-9]+$/.test(text)) return Number(text) * SECOND;
  return untilDate(text, headers.date, now) ?? 0;
}

function untilDate(text: string, serverDate: string | undefined, now: Instant): number | undefined {
  const date = parseHttpDate(text);
  return date === undefined ? undefined : date - (parseHttpDate(serverDate) ?? now);
}

const HTTP_DATE = /^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT$/;

/** An HTTP date in its one current form (RFC 9110, IMF-fixdate). */
export function parseHttpDate(text: string | undefined): Instant | undefined {
  return text !== undefined && HTTP_DATE.test(text) ? parseInstant(text) : undefined;
}
