/** What a kind's rules answer besides an action, and what a run came to. */
import type { Readiness } from "../../../api/conditions.ts";
import type { EventNote } from "../../../kube/events/event-recorder.ts";

/** Nothing can be done before something else happens. */
export interface Waiting {
  readonly kind: "Waiting";
  /** Stalled where only a person's change helps, Reconciling where time or another object does. */
  readonly state: "Reconciling" | "Stalled";
  /** One CamelCase word. */
  readonly reason: string;
  /** What is waited for, and what to do about it; whole sentences. */
  readonly message: string;
  /** A condition of the kind that is False meanwhile, for the same reason. */
  readonly condition?: string;
  /** Reconcile again after this many milliseconds at the latest. */
  readonly afterMs?: number;
  /**
   * What is waited for is as new as the object and has not had its turn: an object that was never reported on stays so
   * until that changes, or `afterMs` is over.
   */
  readonly isBrief?: boolean;
}

/** The object is as declared, as far as can be told now. */
export interface Settled {
  readonly kind: "Settled";
  /** Reconcile again after this many milliseconds at the latest. */
  readonly afterMs?: number;
}

/** Of an object that is being deleted: everything is cleaned up, or given up with a word about it. */
export interface Released {
  readonly kind: "Released";
  /** Recorded once the finalizer is gone. */
  readonly events: readonly EventNote[];
}

/** The run failed; what went wrong is put into words already. */
export interface Failed {
  readonly kind: "Failed";
  readonly error: unknown;
  readonly readiness: Readiness;
}

/** `spec.suspend` is true, and nothing that may be done all the same is left. */
export interface Suspended {
  readonly kind: "Suspended";
}

/** What a run that did not release its object came to. */
export type Outcome = Waiting | Settled | Suspended | Failed;

/** A failure after something has changed: the run ends with `cause`, and its report is about `progress`. */
export class PartialFailure<Progress = unknown> extends Error {
  override readonly name = "PartialFailure";
  readonly progress: Progress;

  constructor(progress: Progress, cause: unknown) {
    super("the reconcile failed part of the way", { cause });
    this.progress = progress;
  }
}

/** What the first rule with a finding found; rules are asked in order. */
export function firstFinding<Finding, Args extends readonly unknown[]>(
  rules: readonly ((...args: Args) => Finding | undefined)[],
  ...args: Args
): Finding | undefined {
  for (const rule of rules) {
    const finding = rule(...args);
    if (finding !== undefined) return finding;
  }
  return undefined;
}
