/** Summarizes an object's Ready condition. Pure. */
import { type Condition, findCondition } from "../../api/conditions.ts";
import type { AnyObject } from "../cluster/kinds.ts";
import type { Cell } from "./table.ts";

export interface Readiness {
  /** The condition's status; `Unknown` if the operator has not reported. */
  readonly ready: Condition["status"];
  readonly reason: string;
  readonly message: string;
  /** Whether manual action is required. */
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
