/** Threads that share the runs of a campaign. The outcome does not depend on how many there are. */
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { merge, newTally, type Tally } from "./tally.ts";
import type { WorkerTask } from "./worker-task.ts";

export interface PoolOptions {
  readonly threads?: number;
  /** Told after each task; answers whether to go on. */
  readonly onProgress?: (soFar: Tally, done: WorkerTask) => boolean;
}

/** Worlds are made and dropped by the thousand: a large nursery keeps most of them out of the old generation. */
const YOUNG_MB = 64;

export async function runTasks(
  tasks: Iterable<WorkerTask> | AsyncIterable<WorkerTask>,
  { threads = availableParallelism(), onProgress = () => true }: PoolOptions = {},
): Promise<Tally> {
  const tally = newTally();
  const rest = inTurn(tasks);
  let goesOn = true;
  const takeTurns = async () => {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), {
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    });
    try {
      for (let next = await rest.next(); goesOn && !next.done; next = await rest.next()) {
        merge(tally, await answerOf(worker, next.value));
        goesOn = onProgress(tally, next.value) && goesOn;
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: threads }, takeTurns));
  return tally;
}

/** Several may ask for the next one at once: a generator has them wait for each other. */
async function* inTurn(
  tasks: Iterable<WorkerTask> | AsyncIterable<WorkerTask>,
): AsyncGenerator<WorkerTask> {
  yield* tasks;
}

function answerOf(worker: Worker, task: WorkerTask): Promise<Tally> {
  return new Promise((resolve, reject) => {
    const settle = (then: () => void) => {
      worker.off("message", onMessage).off("error", onError);
      then();
    };
    const onMessage = (tally: Tally) => settle(() => resolve(tally));
    const onError = (error: unknown) => settle(() => reject(error));
    worker.on("message", onMessage).on("error", onError);
    worker.postMessage(task);
  });
}
