import type { Clock } from "./time.ts";

/** Spaces calls out: `burst` at once, then `perSecond`. Served in the order of asking. */
export class TokenBucket {
  readonly #perMs: number;
  readonly #burst: number;
  readonly #clock: Clock;
  #tokens: number;
  #filledAt: number;

  constructor(options: { perSecond: number; burst: number; clock: Clock }) {
    this.#perMs = options.perSecond / 1_000;
    this.#burst = options.burst;
    this.#clock = options.clock;
    this.#tokens = options.burst;
    this.#filledAt = options.clock.monotonic();
  }

  /** Resolves when the call may go out; rejects with the signal's reason, and then takes nothing. */
  async take(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    this.#fill();
    // A negative balance is the queue: each waiter sleeps until its own token will have come in.
    this.#tokens -= 1;
    if (this.#tokens >= 0) return;
    try {
      await this.#clock.sleep(Math.ceil(-this.#tokens / this.#perMs), signal);
    } catch (error) {
      this.#tokens += 1;
      throw error;
    }
  }

  #fill(): void {
    const now = this.#clock.monotonic();
    this.#tokens = Math.min(this.#burst, this.#tokens + (now - this.#filledAt) * this.#perMs);
    this.#filledAt = now;
  }
}
