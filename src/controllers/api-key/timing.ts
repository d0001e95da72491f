/** How long things may take, in milliseconds. Not for users: tests and the simulation shorten them. */
export interface Timing {
  /** From an unanswered issue to the first look at what became of it: longer than any call may last. */
  readonly recoverySettleMs: number;
  /** Between the first and the second look. */
  readonly recoveryGapMs: number;
  /** Between two tries of a new pair the console does not accept yet. */
  readonly verifyRetryMs: number;
  /** After this long, an unaccepted pair is reported and tried less often. */
  readonly verifyPatienceMs: number;
  readonly verifySlowRetryMs: number;
  /** After this long, a pair that was never accepted is given up. */
  readonly verifyGiveUpMs: number;
  /** Between two looks at a Secret that nothing has touched. */
  readonly secretCheckMs: number;
  /** After this long, a key in use that the console rejects and no longer lists is replaced. */
  readonly endedPatienceMs: number;
  /** Between a list that lacks the accepted key in use and the next check; then twice as long each time. */
  readonly keyCheckMs: number;
  readonly longestKeyCheckMs: number;
  /** How long a deletion waits for the console before the object is released. */
  readonly deletionPatienceMs: number;
}

export const defaultTiming: Timing = {
  recoverySettleMs: 15_000,
  recoveryGapMs: 5_000,
  verifyRetryMs: 5_000,
  verifyPatienceMs: 120_000,
  verifySlowRetryMs: 60_000,
  verifyGiveUpMs: 3_600_000,
  secretCheckMs: 300_000,
  endedPatienceMs: 30_000,
  keyCheckMs: 60_000,
  longestKeyCheckMs: 3_600_000,
  deletionPatienceMs: 600_000,
};
