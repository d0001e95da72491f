/**
 * The contract of a reconciler.
 *
 * It gets an object, never the event that enqueued it, and starts from the beginning every time: it observes the
 * world, decides, acts, and reports. What it does must be safe to do again after a crash at any point.
 *
 * - Returning means: this object is as far as it can get now. `requeueAfterMs` asks for another run at the
 *   latest then; changes enqueue the object earlier. Waiting for another object is a Result, not an error.
 * - Throwing means: this run failed. The queue, and only the queue, decides when to try again, by what the
 *   error policy makes of the error.
 * - Two runs of one key never run at once.
 */
export interface Result {
  readonly requeueAfterMs?: number;
}

export type Reconcile<T> = (object: T, run: Run) => Promise<Result>;

/** What a run is told about itself. */
export interface Run {
  /** New for every run; in every log line of it. */
  readonly id: string;
  /** Whether a change of the object's spec or annotations, or its deletion, asked for this run. */
  readonly isRequested?: boolean;
  /** Aborted at shutdown or when the run takes too long. */
  readonly signal: AbortSignal;
}

/** What becomes of a key whose run threw. */
export type ErrorOutcome =
  /** The plan was made from an outdated view: again at once, without back-off. */
  | { readonly kind: "Conflict" }
  /** Exponential back-off with jitter; not before `notBefore` (an Instant), for 5 min at most, unless somebody asks. */
  | { readonly kind: "Retry"; readonly notBefore?: number }
  /** A person or another system must act first: again after minutes. */
  | { readonly kind: "SlowRetry"; readonly notBefore?: number }
  /** Nothing helps but a change; again after half an hour, or after `resyncMs`. */
  | { readonly kind: "Terminal"; readonly resyncMs?: number };

/** Pure: what to do with a failed run. */
export type ErrorPolicy = (error: unknown) => ErrorOutcome;
