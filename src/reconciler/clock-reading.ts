import { type AgreedTime, readTime } from "../util/agreed-time.ts";
import type { Random } from "../util/random.ts";
import type { Clock } from "../util/time.ts";

/** The time of an answer, in milliseconds since the epoch. May jump. */
export interface Times extends AgreedTime {
  /** Milliseconds of a clock that never jumps; for waits within this process. */
  readonly monotonic: number;
}

/** The time of a decision, read once: pure functions take it as data. */
export interface ClockReading extends Times {
  /** Random in [0, 1), new for every reading; spreads the next reconciles of many objects. */
  readonly fraction: number;
}

export type ReadNow = () => ClockReading;

export function readClock(context: {
  readonly clock: Clock;
  readonly random: Random;
}): ClockReading {
  return { ...readTimes(context.clock), fraction: context.random.fraction() };
}

export function readTimes(clock: Clock): Times {
  return { ...readTime(clock), monotonic: clock.monotonic() };
}
