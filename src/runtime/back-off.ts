import { type Clock, MINUTE, SECOND } from "../util/time.ts";

export interface BackOff {
  readonly baseMs: number;
  readonly maxMs: number;
}

/** After what may pass by itself. */
export const retryBackOff: BackOff = { baseMs: SECOND / 2, maxMs: 5 * MINUTE };

/** After what somebody has to mend first. */
export const slowBackOff: BackOff = { baseMs: MINUTE, maxMs: 15 * MINUTE };

/** How long to wait after the `failures`th failure in a row (from 1); `jitter` in [0, 1) spreads it by a quarter either way. */
export function backOffMs({ baseMs, maxMs }: BackOff, failures: number, jitter: number): number {
  const exponent = Math.min(Math.max(failures, 1) - 1, 40);
  return Math.min(maxMs, baseMs * 2 ** exponent) * (0.75 + jitter / 2);
}

/** Spreads what many failing keys do over time: `burst` at once, then `perSecond`. */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #perMs: number;
  readonly #burst: number;
  #tokens: number;
  #countedAt: number;

  constructor(clock: Clock, { perSecond, burst }: { perSecond: number; burst: number }) {
    this.#clock = clock;
    this.#perMs = perSecond / SECOND;
    this.#burst = burst;
    this.#tokens = burst;
    this.#countedAt = clock.monotonic();
  }

  /** Takes a token, if need be one of the future; says how long until it is there. */
  reserve(): number {
    const now = this.#clock.monotonic();
    const gained = (now - this.#countedAt) * this.#perMs;
    this.#countedAt = now;
    this.#tokens = Math.min(this.#burst, this.#tokens + gained) - 1;
    return Math.max(0, -this.#tokens / this.#perMs);
  }
}
