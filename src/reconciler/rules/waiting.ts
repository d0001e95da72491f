import type { Waiting } from "./outcome.ts";

/** Waits for a change by a person. */
export function stalled(reason: string, message: string, afterMs?: number): Waiting {
  return { kind: "Waiting", state: "Stalled", reason, message, ...(afterMs && { afterMs }) };
}

/** Waits for time to pass or for another object. */
export function reconciling(reason: string, message: string, afterMs?: number): Waiting {
  return { kind: "Waiting", state: "Reconciling", reason, message, ...(afterMs && { afterMs }) };
}
