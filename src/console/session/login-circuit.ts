import { jittered } from "../../util/jitter.ts";
import type { Random } from "../../util/random.ts";
import { type Clock, HOUR, type Instant, MINUTE } from "../../util/time.ts";
import { isUnansweredCall } from "../errors.ts";
import { Cooldown } from "./cooldown.ts";

const TOLERATED = 3;
const FIRST_PAUSE_MS = MINUTE;
const LONGEST_PAUSE_MS = HOUR;

/** An answer to a login without a usable token. */
export interface LoginFailure {
  readonly message: string;
  /** The status of the answer, if it has one. */
  readonly status?: number | undefined;
}

/**
 * Prevents a wrong password from locking out its user: one login at a time, and after three failed logins in a row,
 * logins pause for one minute. Each further failure doubles the pause, up to one hour (S19).
 */
export class LoginCircuit {
  readonly #random: Random;
  readonly #cooldown: Cooldown;
  #failures = 0;
  #lastFailure: LoginFailure | undefined;
  #last: Promise<unknown> | undefined;

  constructor(clock: Clock, random: Random) {
    this.#random = random;
    this.#cooldown = new Cooldown(clock);
  }

  get failures(): number {
    return this.#failures;
  }

  get lastFailure(): LoginFailure | undefined {
    return this.#lastFailure;
  }

  /** When the next login may be tried; `undefined` if it may be tried now. */
  get retryAt(): Instant | undefined {
    return this.#cooldown.until;
  }

  /** Makes one login at a time. A login that waited for an unanswered login fails with the same error. */
  inTurn<T>(login: () => Promise<T>): Promise<T> {
    const retry = (error: unknown) => (isUnansweredCall(error) ? Promise.reject(error) : login());
    const turn = this.#last === undefined ? login() : this.#last.then(login, retry);
    this.#last = turn;
    const leave = () => {
      if (this.#last === turn) this.#last = undefined;
    };
    turn.then(leave, leave);
    return turn;
  }

  failed(failure: LoginFailure): void {
    this.#failures += 1;
    this.#lastFailure = failure;
    if (this.#failures < TOLERATED) return;
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (this.#failures - TOLERATED), LONGEST_PAUSE_MS);
    // Jitter only makes the pause longer: a shorter pause could lock the user out.
    const spreadMs = jittered(pauseMs, { least: 1, most: 1.2 }, this.#random.fraction());
    this.#cooldown.start(Math.min(spreadMs, LONGEST_PAUSE_MS));
  }

  succeeded(): void {
    this.#failures = 0;
    this.endPause();
  }

  /** Permits one login. If it fails, the pause is longer than the previous pause. */
  endPause(): void {
    this.#cooldown.start(0);
  }
}
