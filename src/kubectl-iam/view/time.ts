/** Times as people read them. Pure. */
import { DAY, HOUR, type Instant, MINUTE, parseInstant, SECOND } from "../../util/time.ts";

const UNITS = [
  ["d", DAY],
  ["h", HOUR],
  ["m", MINUTE],
  ["s", SECOND],
] as const;

/** `59d`, `35h`, `2m`, `45s`: one unit, the largest that there are at least two of. */
export function span(ms: number): string {
  const positive = Math.max(0, ms);
  const [unit, size] = UNITS.find(([, each]) => positive >= 2 * each) ?? ["s", SECOND];
  return `${Math.floor(positive / size)}${unit}`;
}

/** Since when, as kubectl's AGE; "-" where the text is no time. */
export function age(time: string | undefined, now: Instant): string {
  const at = parseInstant(time);
  return at === undefined ? "-" : span(now - at);
}

/** `in 59d` or `3h ago`; "-" where the text is no time. */
export function relative(time: string | undefined, now: Instant): string {
  const at = parseInstant(time);
  if (at === undefined) return "-";
  return at > now ? `in ${span(at - now)}` : `${span(now - at)} ago`;
}

/** `2027-02-19T23:58:36Z (in 90d)` */
export function both(time: string | undefined, now: Instant): string {
  return time === undefined ? "-" : `${time} (${relative(time, now)})`;
}
