import type { Clock, Instant } from "../../util/time.ts";

/** A time of waiting. On the monotonic clock: a step of the wall clock neither ends nor prolongs it. */
export class Pause {
  readonly #clock: Clock;
  #end = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** When it is over, by the wall clock as it stands; `undefined` where it is over. */
  get until(): Instant | undefined {
    const leftMs = this.#end - this.#clock.monotonic();
    return leftMs > 0 ? this.#clock.now() + leftMs : undefined;
  }

  /** Starts over; 0 ends it. */
  start(ms: number): void {
    this.#end = this.#clock.monotonic() + ms;
  }
}
