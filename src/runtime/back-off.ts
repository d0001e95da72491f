import { jittered } from "../util/jitter.ts";
import { MINUTE, SECOND } from "../util/time.ts";

export interface BackOff {
  readonly baseMs: number;
  readonly maxMs: number;
}

/** After what may go away without help. */
export const retryBackOff: BackOff = { baseMs: SECOND / 2, maxMs: 5 * MINUTE };

/** After what somebody has to mend first. */
export const slowBackOff: BackOff = { baseMs: MINUTE, maxMs: 15 * MINUTE };

/** How long to wait after the `failures`th failure in a row (from 1); `jitter` in [0, 1) spreads it by a quarter either way. */
export function backOffMs({ baseMs, maxMs }: BackOff, failures: number, jitter: number): number {
  const exponent = Math.min(Math.max(failures, 1) - 1, 40);
  return jittered(Math.min(maxMs, baseMs * 2 ** exponent), { least: 0.75, most: 1.25 }, jitter);
}
