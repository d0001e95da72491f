/** Objects that the operator only plans for. */
import { isPlanOnly } from "../../api/plan-only.ts";
import type { KindDefinition } from "../kind-definition.ts";
import { type End, isReleased, type Outcome } from "../rules/outcome.ts";
import { plannedOutcome } from "../rules/plan-only.ts";
import type { KindTypes, RunContext } from "../run-context.ts";
import type { MadePlan } from "./make-plan.ts";

/** Whether the operator changes nothing for the object. */
export async function isPlannedOnly<K extends KindTypes>(
  kind: KindDefinition<K>,
  object: K["Object"],
  run: RunContext<K>,
): Promise<boolean> {
  if (run.readOnly === true) return true;
  return kind.isPlanOnly === undefined ? isPlanOnly(object) : kind.isPlanOnly(object, run);
}

/** The outcome for an object that is only planned for, if its plan ends with `end`. */
export function outcomeOfPlan<K extends KindTypes>(
  { isReader = false }: KindDefinition<K>,
  { calls, hasEffects }: Pick<MadePlan<K>, "calls" | "hasEffects">,
  end: End,
): Outcome {
  const natural = hasEffects || isReleased(end) ? undefined : end;
  return plannedOutcome(natural, calls.length, isReader);
}
