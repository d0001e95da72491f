/** Threads that share the runs of a campaign. The outcome does not depend on how many there are. */
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { Shift } from "./shift.ts";
import { merge, newTally, type Tally } from "./tally.ts";

export interface CrewOptions {
  readonly threads?: number;
  /** Told after each shift; answers whether to go on. */
  readonly onProgress?: (soFar: Tally, done: Shift) => boolean;
}

/** Worlds are made and dropped by the thousand: a large nursery keeps most of them out of the old generation. */
const YOUNG_MB = 64;

export async function workOff(
  shifts: Iterable<Shift> | AsyncIterable<Shift>,
  { threads = availableParallelism(), onProgress = () => true }: CrewOptions = {},
): Promise<Tally> {
  const tally = newTally();
  const rest = inTurn(shifts);
  let goesOn = true;
  const takeTurns = async () => {
    const worker = new Worker(new URL("./crew-member.ts", import.meta.url), {
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
async function* inTurn(shifts: Iterable<Shift> | AsyncIterable<Shift>): AsyncGenerator<Shift> {
  yield* shifts;
}

function answerOf(worker: Worker, shift: Shift): Promise<Tally> {
  return new Promise((resolve, reject) => {
    const settle = (then: () => void) => {
      worker.off("message", onMessage).off("error", onError);
      then();
    };
    const onMessage = (tally: Tally) => settle(() => resolve(tally));
    const onError = (error: unknown) => settle(() => reject(error));
    worker.on("message", onMessage).on("error", onError);
    worker.postMessage(shift);
  });
}
