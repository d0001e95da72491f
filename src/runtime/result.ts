/**
 * The contract of a reconciler.
 *
 * It gets an object, never the event that enqueued it, and starts from the beginning every time: it observes,
 * decides, acts, and reports. Every action must be safe to repeat after a crash at any point.
 *
 * - Returning means: no further progress on this object is possible now. `requeueAfterMs` requests another run no
 *   later than that; changes enqueue the object earlier. Waiting for another object is a Result, not an error.
 * - Throwing means: this run failed. Only the queue decides when to try again, based on the outcome that the error
 *   policy gives to the error.
 * - A key never has two runs at the same time.
 */
export interface Result {
  readonly requeueAfterMs?: number;
}

export type Reconcile<T> = (object: T, run: Run) => Promise<Result>;

/** The context of one run. */
export interface Run {
  /** Unique for every run; in all its log lines. */
  readonly id: string;
  /** Whether a change of the object's spec or annotations, or its deletion, caused this run. */
  readonly isRequested?: boolean;
  /** Aborted at shutdown or when the run takes too long. */
  readonly signal: AbortSignal;
  /**
   * For the report of the run: aborted at shutdown, or some time after `signal`, so that a run that takes too long can
   * still be reported. `signal` by default.
   */
  readonly reportSignal?: AbortSignal;
}

/** How the queue treats a key after its run threw. */
export type ErrorOutcome =
  /** The run used an outdated view. Retried at once without back-off, up to four times in a row. */
  | { readonly kind: "Conflict" }
  /**
   * Exponential back-off with jitter. Not before `notBefore` (an Instant, at most 5 min ahead), unless a user changes
   * or deletes the object. `isUrgent`: the back-off ends at 80 seconds instead of 5 minutes.
   */
  | { readonly kind: "Retry"; readonly notBefore?: number; readonly isUrgent?: boolean }
  /** A user or another system must act first. Retried after minutes. */
  | { readonly kind: "SlowRetry"; readonly notBefore?: number }
  /** Only a change can help. Retried after half an hour, or after `resyncMs`. */
  | { readonly kind: "Terminal"; readonly resyncMs?: number };

/** Decides the outcome of a failed run. Pure. */
export type ErrorPolicy = (error: unknown) => ErrorOutcome;
