import type { PlannedCall } from "../../api/plan.ts";
import { readTime } from "../../util/agreed-time.ts";
import type { PlannedWrite } from "../effects.ts";
import type { KindDefinition } from "../kind-definition.ts";
import { isDeferred, rejection, reportOf } from "../report-run.ts";
import { isReleased } from "../rules/outcome.ts";
import { failureIn } from "../rules/partial-failure.ts";
import { type ObjectReport, reported } from "../rules/report.ts";
import type { KindTypes, RunContext } from "../run-context.ts";
import { makePlan } from "./make-plan.ts";
import { isPlannedOnly, outcomeOfPlan } from "./plan-only.ts";

export interface PlannedObject {
  readonly calls: readonly PlannedCall[];
  /** The objects that the run would write, with their statuses after it. */
  readonly objects: readonly PlannedWrite[];
  /** Why the plan could not be completed. */
  readonly error?: unknown;
}

/** What the operator would do for the object and report. Never rejects. */
export async function planObject<K extends KindTypes>(
  kind: KindDefinition<K>,
  object: K["Object"],
  run: RunContext<K>,
): Promise<PlannedObject> {
  const after = (reports: readonly ObjectReport[]) =>
    reports.map((each) => ({ type: each.type, object: reported(each, readTime(run.clock)) }));
  const parsed = kind.parse(object);
  if (!parsed.ok) return { calls: [], objects: after([rejection(kind, object, parsed.message)]) };
  try {
    const isPlanned = await isPlannedOnly(kind, object, run);
    const plan = await makePlan(kind, object, parsed.spec, run);
    const { end, assumed, known } = plan;
    const calls = isPlanned ? [] : plan.calls;
    if (end.kind === "Failed") return { calls, objects: [], error: end.error };
    if (isPlanned) {
      const outcome = outcomeOfPlan(kind, plan, end);
      return { calls, objects: after(reportOf(kind, known, outcome, run).objects) };
    }
    const { written } = plan;
    if (isReleased(end) || isDeferred(assumed, end)) return { calls, objects: written };
    const reports = reportOf(kind, assumed, end, run).objects;
    return { calls, objects: [...written, ...after(reports)] };
  } catch (thrown) {
    return { calls: [], objects: [], error: failureIn(thrown, undefined).error };
  }
}
