import type { Clock, Instant } from "../../src/util/time.ts";

/** The console's own clock: runs along with another one, from wherever it was moved to. */
export class WorldClock {
  readonly #base: Pick<Clock, "now">;
  #offset = 0;

  constructor(base: Pick<Clock, "now">) {
    this.#base = base;
  }

  now(): Instant {
    return this.#base.now() + this.#offset;
  }

  /** Moves the console's time; negative values go back. */
  advance(ms: number): void {
    this.#offset += ms;
  }

  /** How far the console's time is ahead of the clock it runs along with. */
  get offsetMs(): number {
    return this.#offset;
  }
}
