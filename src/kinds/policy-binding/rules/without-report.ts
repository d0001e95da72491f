/** The outcome of a run that learned nothing new about its objects: no status is written. Pure. */
import type { Outcome, Waiting } from "../../../reconciler/rules/outcome.ts";

const REASON = "NothingNew";

export function withoutReport(afterMs: number): Waiting {
  return { kind: "Waiting", state: "Reconciling", reason: REASON, message: "", afterMs };
}

export function isWithoutReport(outcome: Outcome): boolean {
  return outcome.kind === "Waiting" && outcome.reason === REASON;
}
