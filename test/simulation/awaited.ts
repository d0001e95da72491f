/** Faults that the operator does not withstand yet. Campaigns leave them out; the list is to become empty. */
import type { Fault } from "./faults.ts";

const AWAITED: ReadonlySet<string> = new Set([
  "iam LateCommit",
  "iam DoubleCommit",
  "iam Behind",
  "world ListsBehind",
  "small scope",
]);

/** Whether the small scope does without gateways. */
export const smallScopeLacksGateways = AWAITED.has("small scope");

export function isAwaited(fault: Fault): boolean {
  switch (fault.on) {
    case "call":
      return AWAITED.has(`${fault.select.server ?? "iam"} ${fault.fault.kind}`);
    case "world":
      return AWAITED.has(`world ${fault.event.kind}`);
    case "watch":
      return false;
  }
}
