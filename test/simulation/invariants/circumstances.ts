/** What excuses delays: how far clocks have been off, and when something last went wrong. */
import type { CallRecord } from "../journal.ts";
import type { SimWorld } from "../sim-world.ts";
import { isLockedOut } from "./view.ts";

export class Circumstances {
  readonly #world: SimWorld;
  #widestSkew = 0;
  #struck = 0;
  /** Calls that a fault has struck and that have not ended yet. */
  #struckCalls: CallRecord[] = [];
  #crashes = 0;
  #ended = 0;
  #troubleAt = Number.NEGATIVE_INFINITY;
  #lockedOutAt = Number.NEGATIVE_INFINITY;

  constructor(world: SimWorld) {
    this.#world = world;
  }

  /** The most that any process's wall clock has ever been off, in milliseconds. */
  get widestSkew(): number {
    return this.#widestSkew;
  }

  /** For how long nothing has gone wrong. */
  get calmMs(): number {
    return this.#world.kernel.elapsed - this.#troubleAt;
  }

  /** For how long nothing has gone wrong, and the operator could log in. */
  get usableMs(): number {
    return Math.min(this.calmMs, this.#world.kernel.elapsed - this.#lockedOutAt);
  }

  onCall(call: CallRecord): void {
    if (call.fault !== undefined) this.#struckCalls.push(call);
  }

  afterEvent(): void {
    const { faults, crashes, replicas, kernel } = this.#world;
    if (isLockedOut(this.#world)) this.#lockedOutAt = kernel.elapsed;
    if (this.#struckCalls.length > 0) {
      this.#troubleAt = kernel.elapsed;
      this.#struckCalls = this.#struckCalls.filter(({ outcome }) => outcome === undefined);
    }
    for (const { process } of replicas.values()) {
      const skew = Math.abs(process.clock.skew);
      if (skew > this.#widestSkew) this.#widestSkew = skew;
      // Nothing can be expected of a process that is stopped.
      if (process.paused) this.#troubleAt = kernel.elapsed;
    }
    const { size } = faults.struck;
    if (size === this.#struck && crashes === this.#crashes && faults.ended === this.#ended) return;
    this.#struck = size;
    this.#ended = faults.ended;
    this.#crashes = crashes;
    this.#troubleAt = kernel.elapsed;
  }
}
