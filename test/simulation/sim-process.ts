/** One process of the operator: its clock, its calls, its end. */
import type { Kernel } from "./kernel.ts";
import { ProcessClock } from "./process-clock.ts";
import type { SeededRandom } from "./seeded-random.ts";

export class SimProcess {
  readonly name: string;
  readonly clock: ProcessClock;
  readonly random: SeededRandom;
  readonly #onEnd: (why: "crashed" | "ended") => void;
  #alive = true;

  constructor(kernel: Kernel, name: string, onEnd: (why: "crashed" | "ended") => void, skewMs = 0) {
    this.name = name;
    this.#onEnd = onEnd;
    this.clock = new ProcessClock(kernel, () => this.#alive, skewMs);
    this.random = kernel.random.fork(name);
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** From here on nothing of it happens: no timer fires, no answer arrives, nothing is sent. */
  crash(): void {
    if (!this.#alive) return;
    this.#alive = false;
    this.#onEnd("crashed");
  }

  ended(): void {
    if (!this.#alive) return;
    this.#alive = false;
    this.#onEnd("ended");
  }
}
