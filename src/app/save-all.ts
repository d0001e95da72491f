/** Writes issued keys that exist only in this process before it ends. */
import type { Unsaved } from "../reconciler/kind-module.ts";
import type { Log } from "../util/log.ts";
import { type Clock, SECOND } from "../util/time.ts";
import { toError } from "../util/to-error.ts";

interface SaveOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** How long a stop may take. */
  readonly graceMs: number;
}

const RETRY_MS = SECOND / 2;
/** At least this long after the last run, however long it took. */
const AFTER_RUNS_MS = 5 * SECOND;
/** Reads of one attempt; the write of a pair has its own limit. */
const ATTEMPT_MS = 5 * SECOND;

/**
 * Tries at once, beside the runs that still end, and again until everything is written: at least until the end of the
 * grace period, and for a while after the last run. A run that hangs takes none of that time.
 */
export async function saveAll(
  unsaved: readonly Unsaved[],
  runs: Promise<unknown>,
  options: SaveOptions,
): Promise<void> {
  const { clock, log, graceMs } = options;
  const countOf = () => unsaved.reduce((sum, { count }) => sum + count, 0);
  const startedAt = clock.monotonic();
  let deadline = Number.POSITIVE_INFINITY;
  const ended = runs.then(() => {
    deadline = Math.max(startedAt + graceMs, clock.monotonic() + AFTER_RUNS_MS);
  });
  const isRunning = () => deadline === Number.POSITIVE_INFINITY;
  for (;;) {
    if (countOf() > 0) await trySave(unsaved, countOf, options);
    if ((countOf() === 0 && !isRunning()) || clock.monotonic() >= deadline) break;
    const pause = clock.sleep(RETRY_MS);
    await (isRunning() ? Promise.race([ended, pause]) : pause);
  }
  if (countOf() > 0) log.error({ pairs: countOf() }, "issued keys are lost with this process");
}

async function trySave(
  unsaved: readonly Unsaved[],
  countOf: () => number,
  { clock, log }: SaveOptions,
): Promise<void> {
  const attempt = new AbortController();
  const cancel = clock.setTimer(ATTEMPT_MS, () => attempt.abort(new Error("saving took too long")));
  try {
    for (const each of unsaved) await each.save(attempt.signal);
  } catch (error) {
    log.warn({ pairs: countOf(), err: toError(error) }, "could not write an issued key yet");
  } finally {
    cancel();
  }
}
