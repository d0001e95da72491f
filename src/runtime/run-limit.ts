/** The time limit of a run. A run that takes too long must still be able to report that. */
import { RunTimedOut } from "../util/run-timed-out.ts";
import { type Clock, SECOND } from "../util/time.ts";
import type { Run } from "./result.ts";

export interface RunLimit extends Pick<Required<Run>, "signal" | "reportSignal"> {
  /** Aborts both signals, because the process stops. */
  stop(): void;
  /** Call it at the end of the run. */
  cancel(): void;
}

/** How long a run can report after its time limit. */
const REPORT_MS = 15 * SECOND;

class Stopped extends Error {
  override readonly name = "Stopped";
}

export function startLimit(clock: Clock, ms: number, onTimeout: () => void): RunLimit {
  const work = new AbortController();
  const report = new AbortController();
  const timedOut = new RunTimedOut("the reconcile timed out");
  const cancels = [
    clock.setTimer(ms, () => {
      onTimeout();
      work.abort(timedOut);
    }),
    clock.setTimer(ms + REPORT_MS, () => report.abort(timedOut)),
  ];
  return {
    signal: work.signal,
    reportSignal: report.signal,
    stop() {
      const stopped = new Stopped("the operator is shutting down");
      work.abort(stopped);
      report.abort(stopped);
    },
    cancel() {
      for (const cancel of cancels) cancel();
    },
  };
}
