import { setImmediate as settled } from "node:timers/promises";
import type { Clock, Instant } from "../../src/util/time.ts";

/** Time that moves only when told to. */
export interface FakeClock extends Clock {
  /** Moves time on, runs the timers that fall due one by one in order, and lets promises settle after each. */
  advance(ms: number): Promise<void>;
  /** Lets promises settle, and runs what is due now. */
  settle(): Promise<void>;
  /** Moves the wall clock alone, as an administrator or NTP would; timers do not notice. */
  jump(ms: number): void;
  /** Milliseconds until the next timer; `undefined` where there is none. */
  untilNextTimer(): number | undefined;
  readonly pendingTimers: number;
}

interface Timer {
  readonly due: number;
  readonly callback: () => void;
}

/** Starts at `start`, 2026-01-01T00:00:00Z by default. */
export function createFakeClock(start: Instant = Date.UTC(2026, 0, 1)): FakeClock {
  const timers = new Set<Timer>();
  let elapsed = 0;
  let wall = start;

  /** The earliest timer, the first set of those that are due together. */
  const earliest = () =>
    [...timers].reduce<Timer | undefined>(
      (first, timer) => (first === undefined || timer.due < first.due ? timer : first),
      undefined,
    );

  const setTimer = (ms: number, callback: () => void) => {
    const timer: Timer = { due: elapsed + Math.max(0, ms), callback };
    timers.add(timer);
    return () => void timers.delete(timer);
  };

  const advance = async (ms: number) => {
    const end = elapsed + ms;
    await settled();
    for (let timer = earliest(); timer !== undefined && timer.due <= end; timer = earliest()) {
      timers.delete(timer);
      wall += timer.due - elapsed;
      elapsed = timer.due;
      timer.callback();
      await settled();
    }
    wall += end - elapsed;
    elapsed = end;
  };

  return {
    now: () => wall,
    monotonic: () => elapsed,
    setTimer,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const onAbort = () => {
          cancel();
          reject(signal?.reason);
        };
        const cancel = setTimer(ms, () => {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        });
        signal?.addEventListener("abort", onAbort, { once: true });
      }),
    advance,
    settle: () => advance(0),
    jump: (ms) => {
      wall += ms;
    },
    untilNextTimer: () => {
      const timer = earliest();
      return timer === undefined ? undefined : timer.due - elapsed;
    },
    get pendingTimers() {
      return timers.size;
    },
  };
}
