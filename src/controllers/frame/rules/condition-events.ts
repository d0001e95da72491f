/** When a changed condition is worth an event: the same for every kind. Pure. */
import { type Condition, findCondition } from "../../../api/conditions.ts";
import type { EventNote } from "../../../kube/events/event-recorder.ts";

/** As much as an event's note holds. */
const MAX_NOTE = 1_000;

type Conditions = readonly Condition[] | undefined;

/**
 * A Warning where an object stalls, stalls for another reason, ceases to be ready, or has a condition of `warnings`
 * turn False; a Normal where it is ready again after that. An object on its way to being ready for the first time is
 * silent, and so is one that a person has suspended.
 */
export function conditionEvents(
  before: Conditions,
  after: Conditions,
  warnings: readonly string[] = [],
): readonly EventNote[] {
  const trouble =
    turned("Stalled", "True", before, after) ??
    ceasedToBeReady(before, after) ??
    warnings.map((type) => turned(type, "False", before, after)).find((each) => each !== undefined);
  if (trouble !== undefined)
    return trouble.reason === "Suspended" ? [] : [toEvent("Warning", trouble)];
  const recovered = recovery(before, after);
  return recovered === undefined ? [] : [toEvent("Normal", recovered)];
}

/** A condition that has become bad, or is bad for another reason. */
function turned(
  type: string,
  bad: "True" | "False",
  before: Conditions,
  after: Conditions,
): Condition | undefined {
  const now = findCondition(after, type);
  const then = findCondition(before, type);
  return now?.status === bad && (then?.status !== bad || then.reason !== now.reason)
    ? now
    : undefined;
}

function ceasedToBeReady(before: Conditions, after: Conditions): Condition | undefined {
  const now = findCondition(after, "Ready");
  return findCondition(before, "Ready")?.status === "True" && now?.status === "False"
    ? now
    : undefined;
}

/** Ready after a failure; a first success has events of its own. */
function recovery(before: Conditions, after: Conditions): Condition | undefined {
  const now = findCondition(after, "Ready");
  const stalled = findCondition(before, "Stalled");
  const wasInTrouble = stalled?.status === "True" && stalled.reason !== "Suspended";
  return now?.status === "True" && wasInTrouble ? now : undefined;
}

function toEvent(type: EventNote["type"], { reason, message }: Condition): EventNote {
  return { type, reason, action: "Reconcile", note: message.slice(0, MAX_NOTE) };
}
