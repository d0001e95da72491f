import { type Clock, SECOND } from "./time.ts";

/** Spreads work over time: `burst` at once, then `perSecond`. Served in the order of asking. */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #perMs: number;
  readonly #burst: number;
  #tokens: number;
  #filledAt: number;

  constructor(clock: Clock, { perSecond, burst }: { perSecond: number; burst: number }) {
    this.#clock = clock;
    this.#perMs = perSecond / SECOND;
    this.#burst = burst;
    this.#tokens = burst;
    this.#filledAt = clock.monotonic();
  }

  /** Takes a token, if need be a future one; says in how many milliseconds it is there. */
  reserve(): number {
    const now = this.#clock.monotonic();
    const gained = (now - this.#filledAt) * this.#perMs;
    this.#filledAt = now;
    // A negative balance is the queue: each waiter waits until its own token has come in.
    this.#tokens = Math.min(this.#burst, this.#tokens + gained) - 1;
    return Math.max(0, -this.#tokens / this.#perMs);
  }

  /** Takes a token that is there now; says whether there was one. */
  tryTake(): boolean {
    if (this.reserve() === 0) return true;
    this.#tokens += 1;
    return false;
  }

  /** Resolves when a token is there; rejects with the signal's reason, and then takes none. */
  async take(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const waitMs = this.reserve();
    if (waitMs === 0) return;
    try {
      await this.#clock.sleep(Math.ceil(waitMs), signal);
    } catch (error) {
      this.#tokens += 1;
      throw error;
    }
  }
}
