/**
 * The contract of a reconciler.
 *
 * It gets an object, never the event that woke it, and starts from the beginning every time: it observes the
 * world, decides, acts, and reports. What it does must be safe to do again after a crash at any point.
 *
 * - Returning means: this object is as far as it can get now. `requeueAfterMs` asks for another pass at the
 *   latest then; changes wake the object earlier. Waiting for another object is a Result, not an error.
 * - Throwing means: this pass failed. The queue, and only the queue, decides when to try again, by what the
 *   error policy makes of the error.
 * - Two passes of one key never run at once.
 */
export interface Result {
  readonly requeueAfterMs?: number;
}

export type Reconcile<T> = (object: T, run: Run) => Promise<Result>;

/** What a pass is told about itself. */
export interface Run {
  /** New for every pass; in every log line of it. */
  readonly id: string;
  /** Aborted at shutdown or when the pass has run for too long. */
  readonly signal: AbortSignal;
}

/** What becomes of a key whose pass threw. */
export type ErrorOutcome =
  /** The plan was made from an outdated view: again at once, without back-off. */
  | { readonly kind: "Conflict" }
  /** Exponential back-off with jitter; not before `notBefore` (an Instant), for 5 min at most, unless somebody asks. */
  | { readonly kind: "Retry"; readonly notBefore?: number }
  /** A person or another system must act first: again after minutes. */
  | { readonly kind: "SlowRetry"; readonly notBefore?: number }
  /** Nothing helps but a change of the object; again with the slow resync. */
  | { readonly kind: "Terminal" };

/** Pure: what to do with a failed pass. */
export type ErrorPolicy = (error: unknown) => ErrorOutcome;
