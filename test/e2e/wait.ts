import { setTimeout as sleep } from "node:timers/promises";

/** Polls until there is an answer; what `poll` throws counts as none. */
export async function until<T>(
  what: string,
  withinMs: number,
  poll: () => Promise<T | undefined>,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  let last: unknown = "";
  while (performance.now() < deadline) {
    try {
      const answer = await poll();
      if (answer !== undefined) return answer;
    } catch (error) {
      last = error;
    }
    await sleep(250);
  }
  throw new Error(`not within ${withinMs / 1_000} s: ${what} ${last}`.trim());
}
