import { Cron } from "croner";
import type { Instant } from "./time.ts";

/** A recurring time span: opens by a cron expression of five fields, in an IANA time zone. */
export interface CronWindow {
  readonly schedule: string;
  readonly timeZone: string;
  readonly durationMs: number;
}

/** What is wrong with the window, as a sentence part for its author; `undefined` where nothing is. */
export function windowProblem({ schedule, timeZone }: CronWindow): string | undefined {
  try {
    const cron = new Cron(schedule, { timezone: timeZone, mode: "5-part", paused: true });
    return cron.nextRun() === null ? "the schedule never opens" : undefined;
  } catch (error) {
    return error instanceof Error ? error.message : "the schedule cannot be read";
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
