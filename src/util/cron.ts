import { Cron } from "croner";
import type { Instant } from "./time.ts";

/** A recurring time span: opens by a cron expression of five fields, in an IANA time zone. */
export interface CronWindow {
  readonly schedule: string;
  readonly timeZone: string;
  readonly durationMs: number;
}

/** A schedule that was parsed, with what was found last: `next` is its first run after `from`. */
interface Parsed {
  readonly cron: Cron;
  from: Instant;
  next: Instant | undefined;
}

/** Parsing costs a millisecond, and to find that nothing ever opens many. As many as are in use at a time. */
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

/** The first moment from `from` on at which the window is open; `undefined` where it never opens again. */
export function nextOpen(window: CronWindow, from: Instant): Instant | undefined {
  const opened = nextRun(parse(window.schedule, window.timeZone), from - window.durationMs);
  return opened === undefined ? undefined : Math.max(opened, from);
}

function nextRun(known: Parsed, from: Instant): Instant | undefined {
  const { next } = known;
  // Five fields name no year: what does not run after one moment runs after none.
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
