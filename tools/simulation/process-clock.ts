import type { Clock } from "../../src/util/time.ts";
import type { Kernel } from "./kernel.ts";

/** A process's own clock: its wall clock can be wrong and can jump, its timers end with the process. */
export class ProcessClock implements Clock {
  readonly #kernel: Kernel;
  readonly #deliver: (run: () => void) => void;
  readonly #rate: number;
  #skew: number;

  /** `deliver`: has a timer fire in the process, if and when that is possible. `rate`: how fast the clock runs. */
  constructor(kernel: Kernel, deliver: (run: () => void) => void, skewMs = 0, rate = 1) {
    this.#kernel = kernel;
    this.#deliver = deliver;
    this.#skew = skewMs;
    this.#rate = rate;
  }

  /** How far the wall clock is off. */
  get skew(): number {
    return this.#skew;
  }

  now(): number {
    const { now, elapsed } = this.#kernel;
    return now + (this.monotonic() - elapsed) + this.#skew;
  }

  monotonic(): number {
    return this.#kernel.elapsed * this.#rate;
  }

  /** Moves the wall clock alone, as an administrator or NTP would. */
  jump(ms: number): void {
    this.#skew += ms;
  }

  setTimer(ms: number, callback: () => void): () => void {
    let isCancelled = false;
    const fire = () => {
      if (!isCancelled) callback();
    };
    const cancel = this.#kernel.schedule(ms / this.#rate, () => this.#deliver(fire));
    return () => {
      // It may be overdue in a process that is paused.
      isCancelled = true;
      cancel();
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        cancel();
        reject(signal?.reason);
      };
      const cancel = this.setTimer(ms, () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      });
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }
}
