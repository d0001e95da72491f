import { jittered } from "../util/jitter.ts";
import { MINUTE, SECOND } from "../util/time.ts";

interface BackOff {
  readonly baseMs: number;
  readonly maxMs: number;
}

/** For failures that may pass without any action. */
export const retryBackOff: BackOff = { baseMs: SECOND / 2, maxMs: 5 * MINUTE };

/** For urgent work: at most 60 retries an hour (L10). */
export const urgentBackOff: BackOff = { baseMs: SECOND / 2, maxMs: 80 * SECOND };

/** For failures that require a fix first. */
export const slowBackOff: BackOff = { baseMs: MINUTE, maxMs: 15 * MINUTE };

/** Wait after the `failures`th failure in a row (from 1). `jitter` in [0, 1) varies it by a quarter either way. */
export function backOffMs({ baseMs, maxMs }: BackOff, failures: number, jitter: number): number {
  const exponent = Math.min(Math.max(failures, 1) - 1, 40);
  return jittered(Math.min(maxMs, baseMs * 2 ** exponent), { least: 0.75, most: 1.25 }, jitter);
}
