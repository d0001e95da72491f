/** Time that passes only when a test lets it. */
import type { Clock } from "../../src/util/time.ts";

export interface VirtualClock extends Clock {
  /** Lets everything run that can, without time passing. */
  settle(): Promise<void>;
  /** Fires what is due within `ms`, in order, each followed by {@link settle}. */
  advance(ms: number): Promise<void>;
  readonly timers: number;
}

export function createVirtualClock(): VirtualClock {
  const timers = new Set<{ at: number; callback: () => void }>();
  let now = 0;
  const settle = async () => {
    for (let i = 0; i < 3; i += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  const setTimer = (ms: number, callback: () => void) => {
    const timer = { at: now + ms, callback };
    timers.add(timer);
    return () => void timers.delete(timer);
  };
  return {
    now: () => now,
    monotonic: () => now,
    setTimer,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const onAbort = () => {
          cancel();
          reject(signal?.reason);
        };
        const cancel = setTimer(ms, () => {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        });
        if (signal?.aborted) onAbort();
        signal?.addEventListener("abort", onAbort, { once: true });
      }),
    settle,
    async advance(ms) {
      const until = now + ms;
      await settle();
      for (;;) {
        const [next] = [...timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
        if (next === undefined) break;
        timers.delete(next);
        now = Math.max(now, next.at);
        next.callback();
        await settle();
      }
      now = until;
    },
    get timers() {
      return timers.size;
    },
  };
}
