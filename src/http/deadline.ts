import type { Clock } from "../util/time.ts";
import { untilAborted } from "../util/until-aborted.ts";
import { HttpError } from "./http.ts";

/** Combines one time limit for several steps and the caller's signal in one AbortSignal. */
export interface Deadline {
  /** Its abort reason is an HttpError. */
  readonly signal: AbortSignal;
  /** Settles like `work`, or rejects when the signal is aborted first: some steps cannot be aborted. */
  readonly race: <R>(work: Promise<R>) => Promise<R>;
  /** Removes the time limit; the caller's signal still applies. */
  readonly cancelTimer: () => void;
  /** Must be called after the last step. */
  readonly stop: () => void;
}

export function startDeadline(clock: Clock, ms: number, outer?: AbortSignal): Deadline {
  const controller = new AbortController();
  const { signal } = controller;
  const onOuterAbort = () => controller.abort(new HttpError("aborted", "the call was cancelled"));
  // Not AbortSignal.any: it stays attached to the outer signal, which lives as long as the program.
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
