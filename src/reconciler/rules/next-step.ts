/** The next step of a run: the kind's rules, limited by suspension. Pure. */
import type { ClockReading } from "../clock-reading.ts";
import type { KindDefinition } from "../kind-definition.ts";
import type { KindTypes, Progress } from "../run-context.ts";
import type { Failing, Outcome, Released, Suspended, Waiting } from "./outcome.ts";

const SUSPENDED: Suspended = { kind: "Suspended" };

const SUSPENDED_DELETION: Waiting = {
  kind: "Waiting",
  state: "Stalled",
  reason: "Suspended",
  message: "spec.suspend is true: the deletion continues when it is false.",
};

/** Why no action is next. */
export type End = Exclude<Outcome, { kind: "Failed" }> | Released;

export function nextStep<K extends KindTypes>(
  kind: KindDefinition<K>,
  progress: Progress<K>,
  { suspend }: K["Spec"],
  at: ClockReading,
): K["Action"] | End | Failing {
  const isDeleting = progress.snapshot.object.metadata.deletionTimestamp !== undefined;
  const step =
    isDeleting && kind.nextOfDeletion !== undefined
      ? kind.nextOfDeletion(progress, at)
      : kind.next(progress, at);
  if (!suspend || isAllowedWhileSuspended(kind, step)) return step;
  return isDeleting ? SUSPENDED_DELETION : SUSPENDED;
}

function isAllowedWhileSuspended<K extends KindTypes>(
  { steps }: KindDefinition<K>,
  step: K["Action"] | End | Failing,
): boolean {
  if (isOutcome(step) || isReleased(step) || isFailing(step)) return false;
  const kind: K["Action"]["kind"] = step.kind;
  return steps[kind].whileSuspended === true;
}

const OUTCOMES: ReadonlySet<string> = new Set(["Waiting", "Settled", "Suspended"]);

export function isOutcome(step: {
  readonly kind: string;
}): step is Exclude<Outcome, { kind: "Failed" }> {
  return OUTCOMES.has(step.kind);
}

export function isReleased(step: { readonly kind: string }): step is Released {
  return step.kind === "Released";
}

export function isFailing(step: { readonly kind: string }): step is Failing {
  return step.kind === "Failing";
}
