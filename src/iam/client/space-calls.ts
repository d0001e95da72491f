import type { Clock, Instant } from "../../util/time.ts";

/** Times the call's own duration. */
const PAUSE = 4;

/**
 * Lets each call begin only when the one before it has ended, and after a pause. The pause is four times as long as that call
 * was, so that a slow call is made less often, and `maxPauseMs` at most. Only one call may wait at a time.
 */
export function spaceCalls<A extends readonly unknown[], T>(
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
