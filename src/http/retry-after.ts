import { type Instant, MINUTE, SECOND } from "../util/time.ts";
import { HTTP_DATE, parseHttpDate } from "./http-date.ts";

/** Longer waits are cut to this, so that a wrong header does not stop the operator for long. */
const LONGEST_WAIT_MS = 5 * MINUTE;

/**
 * The instant that `Retry-After` names, on our clock and at most five minutes ahead; `undefined` if it is not in the
 * future. A date is compared with the answer's `Date` header, if present, so that clock skew does not matter.
 * `seconds` is the wait that the body requires, if any; the longest wait wins.
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

/** The members of a list, as gateways make it of repeated headers; other texts between commas are passed over. */
const MEMBERS = new RegExp(`(?<=^|,)\\s*(${HTTP_DATE}|[0-9]+)\\s*(?=,|$)`, "g");

/** Of several members, the longest wait counts. */
function waitMsOf(headers: Readonly<Record<string, string>>, now: Instant): number {
  const members = [...(headers["retry-after"] ?? "").matchAll(MEMBERS)];
  const waits = members.map(([, member = ""]) =>
    /^[0-9]+$/.test(member) ? Number(member) * SECOND : untilDate(member, headers.date, now),
  );
  return Math.max(0, ...waits);
}

function untilDate(text: string, serverDate: string | undefined, now: Instant): number {
  const date = parseHttpDate(text, now);
  return date === undefined ? 0 : date - (parseHttpDate(serverDate, now) ?? now);
}
