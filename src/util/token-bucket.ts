import { type Clock, SECOND } from "./time.ts";

/** Spreads work over time: `burst` at once, then `perSecond`. Callers are served in order. */
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

  /** Takes a token, even a future one; returns the milliseconds until the token is available. */
  reserve(): number {
    const now = this.#clock.monotonic();
    const gained = (now - this.#filledAt) * this.#perMs;
    this.#filledAt = now;
    // A negative balance is the queue: each caller waits until its own token is available.
    this.#tokens = Math.min(this.#burst, this.#tokens + gained) - 1;
    return Math.max(0, -this.#tokens / this.#perMs);
  }

  /** Takes a token if one is available now; returns whether it did. */
  tryTake(): boolean {
    if (this.reserve() === 0) return true;
    this.#tokens += 1;
    return false;
  }

  /** Resolves when a token is available; rejects with the signal's reason without taking a token. */
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
