import type { Clock, Instant } from "../../util/time.ts";
import { untilAborted } from "../../util/until-aborted.ts";
import { IamError, isIamError } from "../errors.ts";
import type { Operation } from "../model.ts";

/** Times the call's own duration. */
const PAUSE = 4;

interface SharedCall {
  readonly operation: Operation;
  readonly clock: Clock;
  /** The longest pause between two calls. */
  readonly maxPauseMs: number;
}

/**
 * Lets those who ask at about the same time have one answer. No answer is older than the question: who asks while a call
 * is under way, or in the pause after it, gets that of the next one. The pause is four times as long as the call was, so that
 * a slow call is made less often. The signal ends the wait of the one who asked, not the call.
 */
export function shareCall<T>(
  { operation, clock, maxPauseMs }: SharedCall,
  call: () => Promise<T>,
): (signal?: AbortSignal) => Promise<T> {
  let running: Promise<unknown> = Promise.resolve();
  let nextTime: Instant = Number.NEGATIVE_INFINITY;
  let following: Promise<T> | undefined;
  const begin = async (): Promise<T> => {
    await running;
    const waitMs = nextTime - clock.monotonic();
    if (waitMs > 0) await clock.sleep(waitMs);
    following = undefined;
    const startTime = clock.monotonic();
    const answer = call();
    running = answer
      .catch(() => undefined)
      .then(() => {
        const endTime = clock.monotonic();
        nextTime = endTime + Math.min(PAUSE * (endTime - startTime), maxPauseMs);
      });
    return answer;
  };
  return async (signal) => {
    try {
      signal?.throwIfAborted();
      following ??= begin();
      return await untilAborted(following, signal);
    } catch (error) {
      if (isIamError(error) || !signal?.aborted) throw error;
      throw new IamError("Unavailable", `${operation} was cancelled`, { operation });
    }
  };
}
