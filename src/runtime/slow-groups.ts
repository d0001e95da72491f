import type { RunningKey } from "./running-keys.ts";

/** An urgent run that takes longer than this has waited for a call that timed out, or nearly did. */
const SLOW_MS = 4_000;
const MAX_KEPT = 10_000;

/**
 * Groups whose last urgent run was slow. Each has one urgent worker at most, and all together leave as many free as they
 * have, until an urgent run of the group succeeds in time: hanging consoles must not take the workers that revoke access.
 */
export class SlowGroups {
  readonly #slow = new Set<string>();

  /** To be told of every run that has ended. */
  note({ group, isUrgent }: RunningKey, durationMs: number, succeeded: boolean): void {
    if (!isUrgent) return;
    if (durationMs > SLOW_MS) this.#add(group);
    else if (succeeded) this.#slow.delete(group);
  }

  /** Whether an urgent run of the group may begin beside those that run, with so many workers free. */
  mayHaveTurn(group: string, running: Iterable<RunningKey>, free: number): boolean {
    if (!this.#slow.has(group)) return true;
    const slow = [...running].filter((each) => each.isUrgent && this.#slow.has(each.group));
    return slow.length < free && slow.every((each) => each.group !== group);
  }

  #add(group: string): void {
    this.#slow.add(group);
    const [oldest] = this.#slow;
    if (this.#slow.size > MAX_KEPT && oldest !== undefined) this.#slow.delete(oldest);
  }
}
