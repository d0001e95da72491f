import { CLEANUP_PATIENCE_MS } from "../../reconciler/rules/cleanup.ts";

/** Time limits and intervals in milliseconds. Users cannot set them; tests and the simulation shorten them. */
export interface Timing {
  /** From an unanswered issue to the first list of the account's keys: longer than any call can last. */
  readonly recoverySettleMs: number;
  /** Safety net while the run of the account explains an attempt, which enqueues the ApiKey. */
  readonly explanationCheckMs: number;
  /** Between two checks of a new pair that the console does not accept yet. */
  readonly verifyRetryMs: number;
  /** After this long, an unaccepted pair is reported and checked less often. */
  readonly verifyPatienceMs: number;
  readonly verifySlowRetryMs: number;
  /** After this long, the operator gives up a pair that was never accepted. */
  readonly verifyGiveUpMs: number;
  /** Between two reads of an unchanged Secret. */
  readonly secretCheckMs: number;
  /** After this long, the operator replaces a key in use that the console rejects and no longer lists. */
  readonly endedPatienceMs: number;
  /** From a list that lacks the accepted key in use to the next check. The interval doubles with each check. */
  readonly keyCheckMs: number;
  readonly longestKeyCheckMs: number;
  /** The longest time between two checks of a key in use whose state no list shows. */
  readonly regularCheckMs: number;
  /** How long an open attempt waits for its account if the spec names another account by then. */
  readonly formerAccountPatienceMs: number;
  /** How long a deletion waits for the console before the operator removes the finalizer. */
  readonly deletionPatienceMs: number;
}

export const defaultTiming: Timing = {
  recoverySettleMs: 15_000,
  explanationCheckMs: 15_000,
  verifyRetryMs: 5_000,
  verifyPatienceMs: 120_000,
  verifySlowRetryMs: 60_000,
  verifyGiveUpMs: 3_600_000,
  secretCheckMs: 300_000,
  endedPatienceMs: 30_000,
  keyCheckMs: 60_000,
  longestKeyCheckMs: 3_600_000,
  regularCheckMs: 3_600_000,
  formerAccountPatienceMs: CLEANUP_PATIENCE_MS,
  deletionPatienceMs: CLEANUP_PATIENCE_MS,
};
