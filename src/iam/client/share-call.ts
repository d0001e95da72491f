import { untilAborted } from "../../util/until-aborted.ts";
import { IamError, isIamError } from "../errors.ts";
import type { Operation } from "../model.ts";

/**
 * Lets those who ask at the same time have one answer. No answer is older than the question: who asks while a call is
 * under way gets that of the next one. The signal ends the wait of the one who asked, not the call.
 */
export function shareCall<T>(
  operation: Operation,
  call: () => Promise<T>,
): (signal?: AbortSignal) => Promise<T> {
  let running: Promise<void> | undefined;
  let following: Promise<T> | undefined;
  const begin = (): Promise<T> => {
    const answer = call();
    const ended = answer.then(ignore, ignore).then(() => {
      if (running === ended) running = undefined;
    });
    running = ended;
    return answer;
  };
  const beginAfter = async (before: Promise<void>): Promise<T> => {
    await before;
    following = undefined;
    return begin();
  };
  const ask = (): Promise<T> => {
    if (running === undefined) return begin();
    following ??= beginAfter(running);
    return following;
  };
  return async (signal) => {
    try {
      signal?.throwIfAborted();
      return await untilAborted(ask(), signal);
    } catch (error) {
      if (isIamError(error) || !signal?.aborted) throw error;
      throw new IamError("Unavailable", `${operation} was cancelled`, { operation });
    }
  };
}

function ignore(): void {
  // Whoever asked has been told.
}
