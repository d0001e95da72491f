/** A thread that works in shifts. */
import { parentPort } from "node:worker_threads";
import { type Shift, work } from "./shift.ts";

// Nobody reads the stacks of simulated failures, and taking them down costs more than the failures.
Error.stackTraceLimit = 0;

parentPort?.on("message", (shift: Shift) => void carryOut(shift));

async function carryOut(shift: Shift): Promise<void> {
  parentPort?.postMessage(await work(shift));
}
