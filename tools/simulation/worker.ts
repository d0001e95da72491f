/** A thread that works in tasks. */
import { parentPort } from "node:worker_threads";
import { type WorkerTask, work } from "./worker-task.ts";

// Nobody reads the stacks of simulated failures, and taking them down costs more than the failures.
Error.stackTraceLimit = 0;

parentPort?.on("message", (task: WorkerTask) => void carryOut(task));

async function carryOut(task: WorkerTask): Promise<void> {
  parentPort?.postMessage(await work(task));
}
