/** Summarizes an object's Ready condition. */
import { type Condition, findCondition } from "../../api/conditions.ts";
import { type ExitCode, exitCode } from "../cli/errors.ts";
import type { Io } from "../cli/io.ts";
import { type AnyObject, nameOf } from "../cluster/kinds.ts";
import type { Cell } from "./table.ts";

interface Readiness {
  /** The condition's status; `Unknown` if the operator has not reported. */
  readonly ready: Condition["status"];
  readonly reason: string;
  readonly message: string;
  /** Whether manual action is required. */
  readonly isStalled: boolean;
}

export function readinessOf({ status }: Pick<AnyObject, "status">): Readiness {
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

/** Prints one line with the object's Ready condition; returns the matching exit status. */
export function printReadiness(io: Io, object: AnyObject): ExitCode {
  const { ready, reason, message } = readinessOf(object);
  io.print(`${nameOf(object)} Ready=${ready} ${reason}: ${message}`);
  return ready === "True" ? exitCode.ok : exitCode.found;
}
