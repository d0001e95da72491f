import { untilAborted } from "../../util/until-aborted.ts";
import { IamError, isIamError } from "../errors.ts";

/**
 * Shares one answer among all callers that request the same key before the call is sent. `make` makes the call and must
 * call `onSend` when the call is sent, after all its waits; so no answer is older than its request. The signal ends
 * only the wait of its caller, not the call.
 */
export function singleflight<K, T>(
  operation: string,
  make: (key: K, onSend: () => void) => Promise<T>,
): (key: K, signal?: AbortSignal) => Promise<T> {
  const unsent = new Map<K, Promise<T>>();
  const begin = (key: K): Promise<T> => {
    const close = () => {
      if (unsent.get(key) === answer) unsent.delete(key);
    };
    const answer: Promise<T> = Promise.resolve()
      .then(() => make(key, close))
      .finally(close);
    unsent.set(key, answer);
    return answer;
  };
  return async (key, signal) => {
    try {
      signal?.throwIfAborted();
      return await untilAborted(unsent.get(key) ?? begin(key), signal);
    } catch (error) {
      if (isIamError(error) || !signal?.aborted) throw error;
      throw new IamError("Unavailable", `${operation} was cancelled`, { operation });
    }
  };
}
