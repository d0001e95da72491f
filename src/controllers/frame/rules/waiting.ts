import type { Waiting } from "./outcome.ts";

/** Only a person's change helps. */
export function stalled(reason: string, message: string, afterMs?: number): Waiting {
  return { kind: "Waiting", state: "Stalled", reason, message, ...(afterMs && { afterMs }) };
}

/** Time or another object helps. */
export function reconciling(reason: string, message: string, afterMs?: number): Waiting {
  return { kind: "Waiting", state: "Reconciling", reason, message, ...(afterMs && { afterMs }) };
}
