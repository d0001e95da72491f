import type { Random } from "../util/random.ts";
import { type Clock, HOUR, type Instant, MINUTE } from "../util/time.ts";

const TOLERATED = 3;
const FIRST_PAUSE_MS = MINUTE;
const LONGEST_PAUSE_MS = HOUR;

/**
 * Keeps a wrong password from locking its user out: after three failed logins in a row none is tried for
 * a minute, then for twice as long after each further failure, up to an hour (S19).
 */
export class LoginCircuit {
  readonly #clock: Clock;
  readonly #random: Random;
  #failures = 0;
  /** On the monotonic clock: a step of the wall clock neither opens nor prolongs a pause. */
  #pausedUntil = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  get failures(): number {
    return this.#failures;
  }

  /** When a login may be tried again; `undefined` where it may be now. */
  get retryAt(): Instant | undefined {
    const leftMs = this.#pausedUntil - this.#clock.monotonic();
    return leftMs > 0 ? this.#clock.now() + leftMs : undefined;
  }

  failed(): void {
    this.#failures += 1;
    if (this.#failures < TOLERATED) return;
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (this.#failures - TOLERATED), LONGEST_PAUSE_MS);
    // Up to a fifth longer, so that connections which failed together do not try again together.
    const jittered = pauseMs * (1 + this.#random.fraction() / 5);
    this.#pausedUntil = this.#clock.monotonic() + Math.min(jittered, LONGEST_PAUSE_MS);
  }

  succeeded(): void {
    this.#failures = 0;
    this.#pausedUntil = Number.NEGATIVE_INFINITY;
  }
}
