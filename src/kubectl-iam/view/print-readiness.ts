import { type ExitCode, exitCode } from "../cli/errors.ts";
import type { Io } from "../cli/io.ts";
import type { AnyObject } from "../cluster/kinds.ts";
import { nameOf } from "../cluster/why-held.ts";
import { readinessOf } from "./readiness.ts";

/** Prints one line with the object's Ready condition; returns the matching exit status. */
export function printReadiness(io: Io, object: AnyObject): ExitCode {
  const { ready, reason, message } = readinessOf(object);
  io.print(`${nameOf(object)} Ready=${ready} ${reason}: ${message}`);
  return ready === "True" ? exitCode.ok : exitCode.found;
}
