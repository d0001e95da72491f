import { Cron } from "croner";
import type { Instant } from "./time.ts";

/** A recurring time span: opens by a cron expression of five fields, in an IANA time zone. */
export interface CronWindow {
  readonly schedule: string;
  readonly timeZone: string;
  readonly durationMs: number;
}

/** Whether the text is a cron expression of five fields. */
export function isCron(schedule: string): boolean {
  try {
    return new Cron(schedule, { mode: "5-part", paused: true }).getPattern() !== undefined;
  } catch {
    return false;
  }
}

/** The first moment from `from` on at which the window is open; `undefined` where it never opens again. */
export function nextOpen(window: CronWindow, from: Instant): Instant | undefined {
  const cron = new Cron(window.schedule, {
    timezone: window.timeZone,
    mode: "5-part",
    paused: true,
  });
  const opened = cron.nextRun(new Date(from - window.durationMs))?.getTime();
  return opened === undefined ? undefined : Math.max(opened, from);
}
