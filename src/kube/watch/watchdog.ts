/** Detects a silent stream, because a dead connection looks exactly like a quiet connection. */
import type { Clock } from "../../util/time.ts";

export type Silence = "Idle" | "Deadline";

interface WatchdogOptions {
  readonly clock: Clock;
  /** Called at every check, because the limit differs between the parts of a stream. */
  readonly idleMs: () => number;
  readonly deadlineMs: number;
  readonly onSilence: (silence: Silence) => void;
}

export class Watchdog {
  readonly #options: WatchdogOptions;
  readonly #startedAt: number;
  #aliveAt: number;
  #cancel: () => void = () => undefined;

  constructor(options: WatchdogOptions) {
    this.#options = options;
    this.#startedAt = options.clock.monotonic();
    this.#aliveAt = this.#startedAt;
    this.#check();
  }

  /** Records that data arrived. */
  alive(): void {
    this.#aliveAt = this.#options.clock.monotonic();
  }

  stop(): void {
    this.#cancel();
  }

  /** Uses one timer that is restarted when it fires, instead of at every event. */
  #check(): void {
    const { clock, idleMs, deadlineMs, onSilence } = this.#options;
    const now = clock.monotonic();
    const untilIdle = this.#aliveAt + idleMs() - now;
    const untilDeadline = this.#startedAt + deadlineMs - now;
    if (untilDeadline <= 0) onSilence("Deadline");
    else if (untilIdle <= 0) onSilence("Idle");
    else {
      // Round up to whole milliseconds: a timer that fires early would only be set again.
      const ms = Math.max(1, Math.ceil(Math.min(untilIdle, untilDeadline)));
      this.#cancel = clock.setTimer(ms, () => this.#check());
    }
  }
}
