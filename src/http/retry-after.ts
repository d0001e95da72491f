import { DAY, type Instant, parseInstant, SECOND } from "../util/time.ts";

/** A console that asks for more is taken at a day: a wrong header must not stop us for ever. */
const MAX_WAIT_MS = DAY;

/**
 * The moment `Retry-After` names, in our own time; `undefined` where it names none that lies ahead. A date
 * is read against the answer's own `Date`, where there is one, so that skewed clocks do not matter.
 */
export function parseRetryAfter(
  headers: Readonly<Record<string, string>>,
  now: Instant,
): Instant | undefined {
  const text = headers["retry-after"]?.trim();
  if (text === undefined) return undefined;
  const waitMs = /^[0-9]+$/.test(text) ? Number(text) * SECOND : untilDate(text, headers.date, now);
  if (waitMs === undefined || waitMs <= 0) return undefined;
  return now + Math.min(waitMs, MAX_WAIT_MS);
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
