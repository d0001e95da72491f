/** Bounds the number of concurrent calls. First come, first served. */
export class Semaphore {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  /** Runs `work` in a slot. Rejects with the signal's reason if aborted while waiting for a slot. */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    await this.#enter(signal);
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  async #enter(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    const turn = Promise.withResolvers<void>();
    const enter = () => turn.resolve();
    const giveUp = () => {
      // After the slot was handed over, the worker itself releases it.
      if (this.#waiting.delete(enter)) turn.reject(signal?.reason);
    };
    this.#waiting.add(enter);
    signal?.addEventListener("abort", giveUp, { once: true });
    await turn.promise.finally(() => signal?.removeEventListener("abort", giveUp));
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
