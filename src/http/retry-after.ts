import { type Instant, MINUTE, parseInstant, SECOND } from "../util/time.ts";

/** Longer waits are cut to this, so that a wrong header does not stop the operator for long. */
const LONGEST_WAIT_MS = 5 * MINUTE;

/**
 * The instant that `Retry-After` names, on our clock and at most five minutes ahead; `undefined` if it is not in the
 * future. A date is compared with the answer's `Date` header, if present, so that clock skew does not matter.
 * `seconds` is the wait that the body requires, if any; the longer wait wins.
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

/** Parses an HTTP date in its only current form (RFC 9110, IMF-fixdate). */
export function parseHttpDate(text: string | undefined): Instant | undefined {
  return text !== undefined && HTTP_DATE.test(text) ? parseInstant(text) : undefined;
}
