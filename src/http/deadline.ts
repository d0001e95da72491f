/** One time limit over several steps, and the caller's own signal, as one AbortSignal. */

import type { Clock } from "../util/time.ts";
import { HttpError } from "./http.ts";

export interface Deadline {
  readonly signal: AbortSignal;
  /** `work`, unless the limit comes first: some steps cannot be aborted. */
  readonly race: <R>(work: Promise<R>) => Promise<R>;
  /** Lifts the limit; the caller's signal still counts. */
  readonly cancelTimer: () => void;
  /** To be called when all is done. */
  readonly stop: () => void;
}

export function startDeadline(clock: Clock, ms: number, outer?: AbortSignal): Deadline {
  const controller = new AbortController();
  const { signal } = controller;
  const onOuterAbort = () => controller.abort(new HttpError("aborted", "the call was aborted"));
  // Not AbortSignal.any: that would hold on to the outer signal, which lives as long as the program.
  if (outer?.aborted) onOuterAbort();
  else outer?.addEventListener("abort", onOuterAbort, { once: true });
  const cancelTimer = clock.setTimer(ms, () =>
    controller.abort(new HttpError("timeout", `no answer within ${ms} ms`)),
  );
  return {
    signal,
    race: (work) => raceAbort(work, signal),
    cancelTimer,
    stop() {
      cancelTimer();
      outer?.removeEventListener("abort", onOuterAbort);
    },
  };
}

function raceAbort<R>(work: Promise<R>, signal: AbortSignal): Promise<R> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
