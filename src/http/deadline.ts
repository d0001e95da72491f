import type { Clock } from "../util/time.ts";
import { untilAborted } from "../util/until-aborted.ts";
import { HttpError } from "./http.ts";

/** One time limit over several steps, and the caller's own signal, as one AbortSignal. */
export interface Deadline {
  /** Aborted with an HttpError as its reason. */
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
  const onOuterAbort = () => controller.abort(new HttpError("aborted", "the call was cancelled"));
  // Not AbortSignal.any: that would hold on to the outer signal, which lives as long as the program.
  if (outer?.aborted) onOuterAbort();
  else outer?.addEventListener("abort", onOuterAbort, { once: true });
  const cancelTimer = clock.setTimer(ms, () =>
    controller.abort(new HttpError("timeout", `no answer within ${ms} ms`)),
  );
  return {
    signal,
    race: (work) => untilAborted(work, signal),
    cancelTimer,
    stop() {
      cancelTimer();
      outer?.removeEventListener("abort", onOuterAbort);
    },
  };
}
