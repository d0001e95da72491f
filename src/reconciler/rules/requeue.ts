/** When an object is reconciled again. Pure. */
import { MINUTE } from "../../util/time.ts";
import type { Outcome } from "./outcome.ts";

/** A change of the cause enqueues a waiting object. If it goes unnoticed, the object is reconciled after this long. */
const SAFETY_NET_MS = 10 * MINUTE;

/**
 * When to reconcile again after a run that did not fail, in milliseconds; `reportedMs` is the delay requested by its
 * report. `undefined` only for an object that waits for nothing.
 */
export function requeueMs(
  outcome: Exclude<Outcome, { kind: "Failed" }>,
  reportedMs: number | undefined,
): number | undefined {
  const waitMs = outcome.kind === "Waiting" ? (outcome.afterMs ?? SAFETY_NET_MS) : undefined;
  if (waitMs === undefined) return reportedMs && Math.max(reportedMs, 0);
  return Math.max(Math.min(waitMs, reportedMs ?? waitMs), 0);
}
