/**
 * Standard output that nobody has to wait for.
 *
 * Guarantees: writing never blocks and never throws; lines that a full disk or a closed pipe refuses, or that
 * do not fit into the bounded buffer, are lost. pino's own destination blocks forever in `flushSync` when the
 * disk is full.
 */
import { write, writeSync } from "node:fs";
import { type Clock, SECOND } from "../util/time.ts";

const STDOUT = 1;
/** Held back at most while nobody reads. */
const MAX_BUFFERED = 8 * 2 ** 20;
const RETRY_MS = 100;
/** So that many lines are one write. */
const GATHER_MS = 20;
/** How long a flush waits at most for a reader. */
const MAX_FLUSH_MS = SECOND;

export class StandardOutput {
  readonly #clock: Clock;
  #lines: string[] = [];
  #length = 0;
  #isWriting = false;
  /** Whether a thread may be writing right now. Nobody can ask how far it is. */
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
    // A fatal handler's flush comes before this and takes the line along.
    this.#clock.setTimer(GATHER_MS, () => this.#writeAll());
  }

  /** Writes what is held back, blocking for a second at most. */
  flushSync(): void {
    const until = this.#clock.monotonic() + MAX_FLUSH_MS;
    let rest = this.#take();
    // The last words come after what is under way.
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
      else this.#writeAll();
    });
  }

  #take(): Buffer {
    const all = Buffer.from(this.#lines.join(""));
    this.#lines = [];
    this.#length = 0;
    return all;
  }
}

/** Blocks the whole program, but for its threads. */
function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EAGAIN";
}
