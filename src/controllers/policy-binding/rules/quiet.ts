/** Outcomes after which nothing new is known about the objects, so that nothing is said about them. Pure. */
import { SECOND } from "../../../util/time.ts";
import type { Outcome, Waiting } from "../../frame/rules/outcome.ts";
import { CONFIRM_MS } from "./vanished.ts";

const REASON = "NothingNew";

/** The event of our own last write mostly comes first. */
export const CACHES_BEHIND = quiet("The caches are behind the operator's own writes.", SECOND);

export const ANSWER_UNCONFIRMED = quiet(
  "The console's answer lacks foreign policies that were bound; it is asked again.",
  CONFIRM_MS,
);

export const LIST_REFUSED = quiet("The next run leaves out what the console refused.", 1);

export function quiet(message: string, afterMs: number): Waiting {
  return { kind: "Waiting", state: "Reconciling", reason: REASON, message, afterMs };
}

export function isQuiet(outcome: Outcome): outcome is Waiting {
  return outcome.kind === "Waiting" && outcome.reason === REASON;
}
