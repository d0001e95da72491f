/** What a run comes to that learned nothing new about its objects, so that nothing is said about them. Pure. */
import type { Outcome, Waiting } from "../../frame/rules/outcome.ts";

const REASON = "NothingNew";

export function quiet(afterMs: number): Waiting {
  return { kind: "Waiting", state: "Reconciling", reason: REASON, message: "", afterMs };
}

export function isQuiet(outcome: Outcome): boolean {
  return outcome.kind === "Waiting" && outcome.reason === REASON;
}
