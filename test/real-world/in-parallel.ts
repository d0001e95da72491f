import { setTimeout as sleep } from "node:timers/promises";
import { isKubeError } from "../../src/kube/errors.ts";

/** On a machine that is busy to the limit, calls time out; one that had arrived in spite of it is done. */
export async function patiently(work: () => Promise<unknown>): Promise<void> {
  const deadline = performance.now() + 120_000;
  while (true) {
    try {
      return void (await work());
    } catch (error) {
      if (isKubeError(error, "AlreadyExists")) return;
      if (performance.now() > deadline) throw error;
      await sleep(500);
    }
  }
}

/** Does the same with many things, so many at once. */
export async function inParallel<T>(
  items: readonly T[],
  width: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const rest = items.values();
  const lane = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: width }, lane));
}
