/** Formats times for people. Pure. */
import { DAY, HOUR, type Instant, MINUTE, parseInstant, SECOND } from "../../util/time.ts";

const UNITS = [
  ["d", DAY],
  ["h", HOUR],
  ["m", MINUTE],
  ["s", SECOND],
] as const;

/** `59d`, `35h`, `2m`, `45s`: the largest unit of which there are at least two. */
export function span(ms: number): string {
  const positive = Math.max(0, ms);
  const [unit, size] = UNITS.find(([, each]) => positive >= 2 * each) ?? ["s", SECOND];
  return `${Math.floor(positive / size)}${unit}`;
}

/** Time since then, like kubectl's AGE; "-" if the text is not a time. */
export function age(time: string | undefined, now: Instant): string {
  const at = parseInstant(time);
  return at === undefined ? "-" : span(now - at);
}

/** `in 59d` or `3h ago`; "-" if the text is not a time. */
export function relative(time: string | undefined, now: Instant): string {
  const at = parseInstant(time);
  if (at === undefined) return "-";
  return at > now ? `in ${span(at - now)}` : `${span(now - at)} ago`;
}

/** `2027-02-19T23:58:36Z (in 90d)` */
export function both(time: string | undefined, now: Instant): string {
  return time === undefined ? "-" : `${time} (${relative(time, now)})`;
}
