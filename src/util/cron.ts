import { Cron } from "croner";
import type { Instant } from "./time.ts";

/** A recurring time span that opens by a cron expression of five fields, in an IANA time zone. */
interface CronWindow {
  readonly schedule: string;
  readonly timeZone: string;
  readonly durationMs: number;
}

/** A parsed schedule with the last result: `next` is its first run after `from`. */
interface Parsed {
  readonly cron: Cron;
  from: Instant;
  next: Instant | undefined;
}

/**
 * Parsing takes a millisecond, and finding that a schedule never runs takes many. Large enough for all schedules in use
 * at the same time.
 */
const CAPACITY = 1_024;
const parsed = new Map<string, Parsed>();

/** Whether the text is a cron expression of five fields. */
export function isCron(schedule: string): boolean {
  try {
    return parse(schedule, "UTC").cron.getPattern() !== undefined;
  } catch {
    return false;
  }
}

/** The maximum number of days of each month. */
const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];

/**
 * Whether a cron expression of five fields names a day that exists, unlike `0 0 30 2 *`. Searching the calendar takes
 * many milliseconds; this check takes none.
 */
export function hasRun(schedule: string): boolean {
  const [, , day = "*", month = "*", weekday = "*"] = schedule.trim().split(/ +/);
  // With a day of the week, a match of either day is enough.
  if (weekday !== "*") return true;
  const days = valuesOf(day, 31);
  const months = valuesOf(month.toUpperCase(), 12, MONTHS);
  if (days === undefined || months === undefined) return true;
  const first = Math.min(...days);
  return months.some((each) => first <= (DAYS[each - 1] ?? 0));
}

/** The values of a field that starts at 1; `undefined` for other notations, such as L for the last day. */
function valuesOf(
  field: string,
  most: number,
  names: readonly string[] = [],
): readonly number[] | undefined {
  const parts = field.split(",").map((part) => rangeOf(part, most, names));
  return parts.includes(undefined) ? undefined : parts.flatMap((part) => part ?? []);
}

/** `3`, `3-9`, `*`, each with a step such as `/2`. */
function rangeOf(
  part: string,
  most: number,
  names: readonly string[],
): readonly number[] | undefined {
  const [, from = "", to, step] =
    /^([*]|[0-9A-Z]+)(?:-([0-9A-Z]+))?(?:[/]([0-9]+))?$/.exec(part) ?? [];
  const toNumber = (text: string) =>
    names.includes(text) ? names.indexOf(text) + 1 : Number(text);
  const first = from === "*" ? 1 : toNumber(from);
  const single = from === "*" || step !== undefined ? most : first;
  const last = to === undefined ? single : toNumber(to);
  if (!Number.isInteger(first) || !Number.isInteger(last) || first < 1) return undefined;
  const every = Math.max(Number(step ?? 1), 1);
  return Array.from({ length: most }, (_, index) => index + 1).filter(
    (value) => value >= first && value <= last && (value - first) % every === 0,
  );
}

/** The first moment at or after `from` at which the window is open; `undefined` if the window never opens again. */
export function nextOpen(window: CronWindow, from: Instant): Instant | undefined {
  const opened = nextRun(parse(window.schedule, window.timeZone), from - window.durationMs);
  return opened === undefined ? undefined : Math.max(opened, from);
}

function nextRun(known: Parsed, from: Instant): Instant | undefined {
  const { next } = known;
  // Five fields do not contain a year: a schedule without a run after one moment has no run after any moment.
  if (next === undefined || (known.from <= from && from < next)) return next;
  known.next = known.cron.nextRun(new Date(from))?.getTime();
  known.from = from;
  return known.next;
}

function parse(schedule: string, timeZone: string): Parsed {
  const key = JSON.stringify([schedule, timeZone]);
  const known = parsed.get(key);
  if (known !== undefined) return known;
  const cron = new Cron(schedule, { timezone: timeZone, mode: "5-part", paused: true });
  const never = Number.NEGATIVE_INFINITY;
  const fresh = { cron, from: never, next: never };
  const [oldest] = parsed.keys();
  if (parsed.size >= CAPACITY && oldest !== undefined) parsed.delete(oldest);
  parsed.set(key, fresh);
  return fresh;
}
