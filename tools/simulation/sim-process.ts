/** One process of the operator: its clock, what reaches it, its end. */

import type { SeededRandom } from "../../test/support/seeded-random.ts";
import type { Kernel } from "./kernel.ts";
import { ProcessClock } from "./process-clock.ts";

/** What can happen in a process: its own code goes on, a timer fires, something arrives from outside. */
export type Happening = "code" | "timer" | "arrival";

export class SimProcess {
  readonly name: string;
  readonly clock: ProcessClock;
  readonly random: SeededRandom;
  readonly #kernel: Kernel;
  readonly #onEnd: (why: "crashed" | "ended") => void;
  #alive = true;
  #paused = false;
  #awakeSince: number;
  /** What came while the process was paused and has not had its turn yet. */
  #backlog: Record<Happening, (() => void)[]> | undefined;
  #order: readonly Happening[] = [];

  constructor(
    kernel: Kernel,
    name: string,
    onEnd: (why: "crashed" | "ended") => void,
    skewMs?: number,
    rate?: number,
  ) {
    this.name = name;
    this.#kernel = kernel;
    this.#onEnd = onEnd;
    this.#awakeSince = kernel.elapsed;
    this.clock = new ProcessClock(kernel, (run) => this.deliver(run, "timer"), skewMs, rate);
    this.random = kernel.random.fork(name);
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** When it was started, or last continued. */
  get awakeSince(): number {
    return this.#awakeSince;
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** Has `run` happen in this process: now, later where it is paused, never where it is dead. */
  deliver(run: () => void, as: Happening = "arrival"): void {
    if (!this.#alive) return;
    if (this.#backlog === undefined) run();
    else this.#backlog[as].push(run);
  }

  /** SIGSTOP: the world goes on, nothing of this process does. */
  pause(): void {
    this.#paused = true;
    this.#backlog ??= { code: [], timer: [], arrival: [] };
    this.#kernel.note(`${this.name} paused`);
  }

  /**
   * SIGCONT: first the code goes on that was interrupted. Whether overdue timers or what has arrived comes
   * next depends on where the event loop stood, so that the seed decides it.
   */
  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#awakeSince = this.#kernel.elapsed;
    this.#kernel.note(`${this.name} goes on`);
    const rest: readonly Happening[] = this.#kernel.random.chance(0.5)
      ? ["timer", "arrival"]
      : ["arrival", "timer"];
    this.#order = ["code", ...rest];
    this.#catchUp();
  }

  pauseFor(ms: number): void {
    this.pause();
    this.#kernel.schedule(ms, () => this.resume());
  }

  /** From here on nothing of it happens: no timer fires, no answer arrives, nothing is sent. */
  crash(): void {
    this.#end("crashed");
  }

  ended(): void {
    this.#end("ended");
  }

  #end(why: "crashed" | "ended"): void {
    if (!this.#alive) return;
    this.#alive = false;
    this.#onEnd(why);
  }

  /** One by one, so that what each of them sets off comes before the next. */
  #catchUp(): void {
    if (this.#paused || !this.#alive || this.#backlog === undefined) return;
    const backlog = this.#backlog;
    const kind = this.#order.find((each) => backlog[each].length > 0);
    if (kind === undefined) {
      this.#backlog = undefined;
      return;
    }
    backlog[kind].shift()?.();
    this.#kernel.schedule(0, () => this.#catchUp());
  }
}
