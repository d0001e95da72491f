import type { Random } from "../util/random.ts";
import { type Clock, MINUTE } from "../util/time.ts";
import { TokenBucket } from "../util/token-bucket.ts";
import { backOffMs, retryBackOff, slowBackOff, urgentBackOff } from "./back-off.ts";
import type { ErrorOutcome } from "./result.ts";

/** After this many conflicts in a row, a conflict counts like any other failure. */
const QUICK_CONFLICTS = 4;

/** The longest accepted `Retry-After`. */
const MAX_HOLD_MS = 5 * MINUTE;

export type RetriedOutcome = Exclude<ErrorOutcome, { kind: "Terminal" }>;

/** When a failed key is retried. */
interface Delay {
  readonly afterMs: number;
  /** Only a request can cause an earlier retry; at most 5 min. */
  readonly holdMs: number;
}

interface Failures {
  conflicts: number;
  others: number;
}

/** Counts the failures of every key and decides when the key is retried. */
export class Retries {
  readonly #clock: Clock;
  readonly #random: Random;
  /** Shared by all failing keys, so that a thousand of them leave capacity for a healthy key (L3). */
  readonly #bucket: TokenBucket;
  readonly #failures = new Map<string, Failures>();

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
    this.#bucket = new TokenBucket(clock, { perSecond: 20, burst: 100 });
  }

  /** Counts a failure and returns when to retry. */
  delay(key: string, outcome: RetriedOutcome): Delay {
    const failures = this.#failures.get(key) ?? { conflicts: 0, others: 0 };
    this.#failures.set(key, failures);
    if (outcome.kind === "Conflict") {
      failures.conflicts += 1;
      if (failures.conflicts <= QUICK_CONFLICTS) return { afterMs: 0, holdMs: 0 };
    } else {
      failures.conflicts = 0;
    }
    failures.others += 1;
    return this.#slower(outcome, failures.others);
  }

  /** Failures since the last success; conflicts count up to four. */
  failures(key: string): number {
    const { conflicts = 0, others = 0 } = this.#failures.get(key) ?? {};
    return Math.min(conflicts, QUICK_CONFLICTS) + others;
  }

  /** Call it after a success, or when the object no longer exists. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  #slower(outcome: RetriedOutcome, failures: number): Delay {
    const isUrgent = outcome.kind === "Retry" && outcome.isUrgent === true;
    const ordinary = isUrgent ? urgentBackOff : retryBackOff;
    const backOff = outcome.kind === "SlowRetry" ? slowBackOff : ordinary;
    const notBefore = outcome.kind === "Conflict" ? undefined : outcome.notBefore;
    const asked = notBefore === undefined ? 0 : notBefore - this.#clock.now();
    const holdMs = Math.min(Math.max(0, asked), MAX_HOLD_MS);
    const waitMs = backOffMs(backOff, failures, this.#random.fraction());
    return { afterMs: Math.max(waitMs, this.#bucket.reserve(), holdMs), holdMs };
  }
}
