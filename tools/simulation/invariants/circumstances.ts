/** What excuses delays: how far clocks have been off, and when something last went wrong. */
import { MINUTE } from "../../../src/util/time.ts";
import type { CallRecord } from "../journal.ts";
import type { SimWorld } from "../sim-world.ts";
import { isLockedOut } from "./view.ts";

/** Clocks that are closer to each other than this agree. */
const TOLERANCE_MS = 5 * MINUTE;

/** By how much the time is off that two of three clocks show, which are off by so much. */
export function agreed(operator: number, ...servers: readonly [number, number]): number {
  const [, middle = 0] = [operator, ...servers].toSorted((a, b) => a - b);
  return Math.abs(operator - middle) <= TOLERANCE_MS ? operator : middle;
}

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

  /**
   * The most that the time a process goes by has ever been off, in milliseconds: its own, unless the clocks of both
   * servers show another.
   */
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
    const { operators, kube, iam } = this.#world.clockSkews;
    for (const skew of operators)
      this.#widestSkew = Math.max(this.#widestSkew, Math.abs(agreed(skew, kube, iam)));
    for (const { process } of replicas.values()) {
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
