/** Which changed conditions cause an event: the same for every kind. Pure. */
import { type Condition, findCondition } from "../../api/conditions.ts";
import { MAX_NOTE } from "../../api/events.ts";
import type { EventNote } from "../../kube/events/event-recorder.ts";

/** Repeats a condition, with its reason. */
export type ConditionEvent = EventNote & { readonly isCondition: true };
type Conditions = readonly Condition[] | undefined;

/**
 * A Warning if an object stalls, stalls for another reason, is no longer ready, or a condition in `warnings` becomes
 * False; a Normal event if a stalled object is ready again. An object that becomes ready for the first time causes no
 * event here, and neither does suspension.
 */
export function conditionEvents(
  before: Conditions,
  after: Conditions,
  warnings: readonly string[] = [],
): readonly ConditionEvent[] {
  const trouble =
    turned("Stalled", "True", before, after) ??
    ceasedToBeReady(before, after) ??
    warnings.map((type) => turned(type, "False", before, after)).find((each) => each !== undefined);
  if (trouble !== undefined)
    return trouble.reason === "Suspended" ? [] : [toEvent("Warning", trouble)];
  const recovered = recovery(before, after);
  return recovered === undefined ? [] : [toEvent("Normal", recovered)];
}

/** The condition, if it has become bad or is bad for a different reason. */
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

/** Ready after a failure; the first success has its own events. */
function recovery(before: Conditions, after: Conditions): Condition | undefined {
  const now = findCondition(after, "Ready");
  const stalled = findCondition(before, "Stalled");
  const wasInTrouble = stalled?.status === "True" && stalled.reason !== "Suspended";
  return now?.status === "True" && wasInTrouble ? now : undefined;
}

function toEvent(type: ConditionEvent["type"], { reason, message }: Condition): ConditionEvent {
  return { type, reason, action: "Reconcile", note: message.slice(0, MAX_NOTE), isCondition: true };
}
