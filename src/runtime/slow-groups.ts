import type { RunningKey } from "./running-keys.ts";

/** An urgent run that takes longer than this has waited for a call that timed out, or almost did. */
const SLOW_MS = 4_000;
const MAX_KEPT = 10_000;

/**
 * Groups with a slow urgent run and no fast, successful urgent run since. Each group has at most one urgent worker, and
 * all of them together leave as many workers free as they have. Hanging consoles must not block the workers that revoke
 * access.
 */
export class SlowGroups {
  readonly #slow = new Set<string>();

  /** Must be called for every ended run. */
  note({ group, isUrgent }: RunningKey, durationMs: number, succeeded: boolean): void {
    if (!isUrgent) return;
    if (durationMs > SLOW_MS) this.#add(group);
    else if (succeeded) this.#slow.delete(group);
  }

  /** Whether an urgent run of the group can start now, with `free` workers free. */
  isEligible(group: string, running: Iterable<RunningKey>, free: number): boolean {
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
