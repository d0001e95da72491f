/** The results of a kind's rules other than an action, and the outcomes of a run. */

import type { Readiness } from "../../api/conditions.ts";
import type { OperatorEvent } from "../../api/events.ts";

/** The object cannot be reconciled further until something else happens. */
export interface Waiting {
  readonly kind: "Waiting";
  /** Stalled if only a change by a person helps, Reconciling if time or another object helps. */
  readonly state: "Reconciling" | "Stalled";
  /** One CamelCase word. */
  readonly reason: string;
  /** What the object waits for and what the reader can do about it, in full sentences. */
  readonly message: string;
  /** A condition of the kind that is False during the wait, for the same reason. */
  readonly condition?: string;
  /** Reconcile again after this many milliseconds at the latest. */
  readonly afterMs?: number;
  /**
   * The other object is also new and not reconciled yet: an object without a status gets none until that changes or
   * `afterMs` is over.
   */
  readonly deferFirstStatus?: boolean;
}

/** The object is as declared, as far as the operator knows. */
export interface Settled {
  readonly kind: "Settled";
  /** Reconcile again after this many milliseconds at the latest. */
  readonly afterMs?: number;
}

/** For an object being deleted: everything is cleaned up, or the operator gave up and reports it in an event. */
export interface Released {
  readonly kind: "Released";
  /** Recorded after the finalizer is removed. */
  readonly events: readonly OperatorEvent[];
}

/** Nothing is left to do, and an earlier call of the run has failed: the run fails with its error. */
export interface Failing {
  readonly kind: "Failing";
  readonly error: Error;
}

/** The run failed; `readiness` describes the failure. */
export interface Failed {
  readonly kind: "Failed";
  readonly error: unknown;
  readonly readiness: Readiness;
}

/** `spec.suspend` is true, and no action that is allowed during suspension is left. */
export interface Suspended {
  readonly kind: "Suspended";
}

/** The outcome of a run that did not release its object. */
export type Outcome = Waiting | Settled | Suspended | Failed;

/** Why a run ends. */
export type End = Exclude<Outcome, Failed> | Released;

/**
 * Whether the run leaves a request to reconcile unanswered, because it failed and is tried again. A failure that only a
 * person ends is the answer.
 */
export function leavesRequestOpen(outcome: Outcome): boolean {
  return outcome.kind === "Failed" && outcome.readiness.state !== "Stalled";
}

export function isReleased(step: { readonly kind: string }): step is Released {
  return step.kind === "Released";
}

export function isFailing(step: { readonly kind: string }): step is Failing {
  return step.kind === "Failing";
}

/** The finding of the first rule that has one; the rules are called in order. */
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
