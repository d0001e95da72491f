import type { Instant } from "../../src/util/time.ts";
import { Kernel } from "../simulation/kernel.ts";
import { ProcessClock } from "../simulation/process-clock.ts";

/** The simulation's clock, in a world that has nothing but timers; time moves only when told to. */
export class FakeClock extends ProcessClock {
  readonly #kernel: Kernel;

  /** Starts at `start`, 2026-01-01T00:00:00Z by default. */
  constructor(start?: Instant) {
    const kernel = new Kernel(1, start);
    super(kernel, (run) => run());
    this.#kernel = kernel;
  }

  /** Moves time on, runs the timers that fall due one by one in order, and lets promises settle after each. */
  advance(ms: number): Promise<void> {
    return this.#kernel.advance(ms);
  }

  /** Lets promises settle, and runs what is due now. */
  settle(): Promise<void> {
    return this.advance(0);
  }

  /** Milliseconds until the next timer; `undefined` if there is none. */
  untilNextTimer(): number | undefined {
    const [next] = this.#kernel.waiting;
    return next === undefined ? undefined : next.at - this.monotonic();
  }

  get pendingTimers(): number {
    return this.#kernel.waiting.length;
  }
}

export function createFakeClock(start?: Instant): FakeClock {
  return new FakeClock(start);
}
