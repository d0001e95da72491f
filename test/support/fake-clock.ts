import { Kernel } from "../../tools/simulation/kernel.ts";
import { ProcessClock } from "../../tools/simulation/process-clock.ts";

/** The simulation's clock, in a world that has nothing but timers; time moves only when told to. */
export class FakeClock extends ProcessClock {
  readonly #kernel: Kernel;

  constructor() {
    const kernel = new Kernel(1);
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

  get pendingTimers(): number {
    return this.#kernel.waiting.length;
  }
}

export function createFakeClock(): FakeClock {
  return new FakeClock();
}
