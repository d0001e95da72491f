/** What an object says about itself, in a word. Pure. */
import { type Condition, findCondition } from "../../api/conditions.ts";
import type { AnyObject } from "../cluster/kinds.ts";
import type { Cell } from "./table.ts";

export interface Readiness {
  /** As the condition has it; `Unknown` where the operator has not said anything. */
  readonly ready: Condition["status"];
  readonly reason: string;
  readonly message: string;
  /** Only a change by a person helps. */
  readonly isStalled: boolean;
}

export function readinessOf({ status }: AnyObject): Readiness {
  const ready = findCondition(status?.conditions, "Ready");
  const stalled = findCondition(status?.conditions, "Stalled");
  return {
    ready: ready?.status ?? "Unknown",
    reason: ready?.reason ?? "NotSeen",
    message: ready?.message ?? "The operator has not reconciled this object yet: is it running?",
    isStalled: stalled?.status === "True",
  };
}

export function readyCell({ ready, isStalled }: Readiness): Cell {
  const style = ready === "True" ? "good" : isStalled ? "bad" : "warning";
  return { text: ready, style };
}
