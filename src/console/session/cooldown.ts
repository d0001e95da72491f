import type { Clock, Instant } from "../../util/time.ts";

/** A waiting period on the monotonic clock: a step of the wall clock neither ends nor extends it. */
export class Cooldown {
  readonly #clock: Clock;
  #end = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** When the cooldown ends, on the current wall clock; `undefined` if it has ended. */
  get until(): Instant | undefined {
    const leftMs = this.#end - this.#clock.monotonic();
    return leftMs > 0 ? this.#clock.now() + leftMs : undefined;
  }

  /** Restarts the cooldown; 0 ends it. */
  start(ms: number): void {
    this.#end = this.#clock.monotonic() + ms;
  }
}
