import type { Clock } from "../../../src/util/time.ts";

/** Time that moves only when told to. Sleepers and timers wake in the order of their moments. */
export class ManualClock implements Clock {
  #now: number;
  #timers: { at: number; fire: () => void }[] = [];

  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const cancel = this.setTimer(ms, resolve);
    signal?.addEventListener("abort", () => {
      cancel();
      reject(signal.reason);
    });
    return promise;
  }

  setTimer(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + ms, fire: callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Lets `ms` pass. */
  advance(ms: number): void {
    this.#now += ms;
    const due = this.#timers.filter(({ at }) => at <= this.#now).sort((a, b) => a.at - b.at);
    this.#timers = this.#timers.filter(({ at }) => at > this.#now);
    for (const { fire } of due) fire();
  }
}
