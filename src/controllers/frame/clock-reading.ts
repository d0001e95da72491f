import type { Random } from "../../util/random.ts";
import type { Clock, Instant } from "../../util/time.ts";

/** The time of a decision, read once: pure functions take it as data. */
export interface ClockReading {
  /** Wall-clock time, in milliseconds since the epoch. May jump. */
  readonly now: Instant;
  /** Milliseconds of a clock that never jumps; for waits within this process. */
  readonly monotonic: number;
  /** Random in [0, 1), new for every reading; spreads the next reconciles of many objects. */
  readonly fraction: number;
}

export function readClock(context: {
  readonly clock: Clock;
  readonly random: Random;
}): ClockReading {
  const { clock, random } = context;
  return { now: clock.now(), monotonic: clock.monotonic(), fraction: random.fraction() };
}
