import { jittered } from "../../util/jitter.ts";
import type { Random } from "../../util/random.ts";
import { type Clock, HOUR, type Instant, MINUTE } from "../../util/time.ts";
import { Cooldown } from "./cooldown.ts";

const TOLERATED = 3;
const FIRST_PAUSE_MS = MINUTE;
const LONGEST_PAUSE_MS = HOUR;

/**
 * Prevents a wrong password from locking out its user: after three failed logins in a row, logins pause for one
 * minute. Each further failure doubles the pause, up to one hour (S19).
 */
export class LoginCircuit {
  readonly #random: Random;
  readonly #cooldown: Cooldown;
  #failures = 0;

  constructor(clock: Clock, random: Random) {
    this.#random = random;
    this.#cooldown = new Cooldown(clock);
  }

  get failures(): number {
    return this.#failures;
  }

  /** When the next login may be tried; `undefined` if it may be tried now. */
  get retryAt(): Instant | undefined {
    return this.#cooldown.until;
  }

  failed(): void {
    this.#failures += 1;
    if (this.#failures < TOLERATED) return;
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (this.#failures - TOLERATED), LONGEST_PAUSE_MS);
    // Jitter only makes the pause longer: a shorter pause could lock the user out.
    const spreadMs = jittered(pauseMs, { least: 1, most: 1.2 }, this.#random.fraction());
    this.#cooldown.start(Math.min(spreadMs, LONGEST_PAUSE_MS));
  }

  succeeded(): void {
    this.#failures = 0;
    this.#cooldown.start(0);
  }
}
