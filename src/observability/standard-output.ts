/**
 * Standard output that never delays the program.
 *
 * Guarantees: writing never blocks and never throws; lines are lost if a full disk or a closed pipe rejects them, or if
 * they do not fit into the bounded buffer. pino's own destination blocks forever in `flushSync` if the disk is full.
 */
import { write, writeSync } from "node:fs";
import { type Clock, SECOND } from "../util/time.ts";

const STDOUT = 1;
/** The most characters that are buffered while no reader reads. */
const MAX_BUFFERED = 8 * 2 ** 20;
const RETRY_MS = 100;
/** Time to collect lines into one write. */
const GATHER_MS = 20;
/** The longest time that a flush waits for a reader. */
const MAX_FLUSH_MS = SECOND;

export class StandardOutput {
  readonly #clock: Clock;
  #lines: string[] = [];
  #length = 0;
  #isWriting = false;
  /** Whether a thread may be writing now. Its progress is unknown. */
  #isUnderWay = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  write(line: string): void {
    if (this.#length + line.length > MAX_BUFFERED) return;
    this.#lines.push(line);
    this.#length += line.length;
    if (this.#isWriting) return;
    this.#isWriting = true;
    this.#gather();
  }

  /** Writes buffered lines; blocks for up to a second if no reader reads. */
  flushSync(): void {
    const until = this.#clock.monotonic() + MAX_FLUSH_MS;
    let rest = this.#take();
    // The last lines must come after the write in progress.
    if (this.#isUnderWay) pause(RETRY_MS);
    while (rest.length > 0) {
      try {
        rest = rest.subarray(writeSync(STDOUT, rest));
      } catch (error) {
        if (!isBusy(error) || this.#clock.monotonic() > until) return;
        pause(RETRY_MS);
      }
    }
  }

  /** If a fatal handler flushes before the write, the flush includes the gathered lines. */
  #gather(): void {
    this.#clock.setTimer(GATHER_MS, () => this.#writeAll());
  }

  #writeAll(): void {
    const all = this.#take();
    this.#isWriting = all.length > 0;
    if (this.#isWriting) this.#writeOn(all);
  }

  #writeOn(rest: Buffer): void {
    this.#isUnderWay = true;
    write(STDOUT, rest, (error, written) => {
      this.#isUnderWay = false;
      if (isBusy(error)) this.#clock.setTimer(RETRY_MS, () => this.#writeOn(rest));
      else if (error === null && written < rest.length) this.#writeOn(rest.subarray(written));
      else this.#gather();
    });
  }

  #take(): Buffer {
    const all = Buffer.from(this.#lines.join(""));
    this.#lines = [];
    this.#length = 0;
    return all;
  }
}

/** Blocks the whole program, except its threads. */
function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EAGAIN";
}
