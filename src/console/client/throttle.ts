import type { Clock, Instant } from "../../util/time.ts";

/** The pause as a multiple of the call's duration. */
const PAUSE = 4;

/**
 * Starts each call only after the previous call has ended and a pause has passed. The pause is four times the duration
 * of the previous call, at most `maxPauseMs`, so that slow calls are made less often. Assumes that at most one call
 * waits at a time.
 */
export function throttle<A extends readonly unknown[], T>(
  { clock, maxPauseMs }: { readonly clock: Clock; readonly maxPauseMs: number },
  make: (...args: A) => Promise<T>,
): (...args: A) => Promise<T> {
  let running: Promise<unknown> = Promise.resolve();
  let nextTime: Instant = Number.NEGATIVE_INFINITY;
  return async (...args) => {
    await running;
    const waitMs = nextTime - clock.monotonic();
    if (waitMs > 0) await clock.sleep(waitMs);
    const startTime = clock.monotonic();
    const answer = make(...args);
    running = answer
      .catch(() => undefined)
      .then(() => {
        const endTime = clock.monotonic();
        nextTime = endTime + Math.min(PAUSE * (endTime - startTime), maxPauseMs);
      });
    return answer;
  };
}
