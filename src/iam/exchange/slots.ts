/** Bounds how many calls are under way at once. First come, first served. */
export class Slots {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  /** Runs `work` in a slot; rejects with the signal's reason when aborted while waiting for one. */
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
      // Once the slot is handed over, it is the worker's to give back.
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
