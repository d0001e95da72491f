import { type Clock, MINUTE } from "../util/time.ts";

/** How long after a write without an answer its object is looked at, and how often: a gateway may deliver it late. */
const WATCH_MS = 5 * MINUTE;
export const LOOK_MS = MINUTE;

/**
 * Objects whose last status may or may not be stored, because the write got no answer. The API server takes a late write
 * as long as the object has the version that the write requires. An equal status, written again, leaves the version as
 * it is, so the object stays here until its version changes.
 */
export class UnansweredStatuses {
  readonly #clock: Pick<Clock, "monotonic">;
  /** By uid: when the last write was given up; monotonic. */
  readonly #givenUp = new Map<string, number>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  note(uid: string): void {
    this.#givenUp.set(uid, this.#clock.monotonic());
  }

  /** Call it after a write that was answered. */
  answered(uid: string, isNewVersion: boolean): void {
    if (isNewVersion) this.#givenUp.delete(uid);
  }

  /** Whether the next status must be written even if it equals the known status. */
  has(uid: string): boolean {
    const time = this.#givenUp.get(uid);
    if (time === undefined) return false;
    if (this.#clock.monotonic() < time + WATCH_MS) return true;
    this.#givenUp.delete(uid);
    return false;
  }

  forget(uid: string): void {
    this.#givenUp.delete(uid);
  }
}
