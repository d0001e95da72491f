import { setTimeout as sleep } from "node:timers/promises";

/** Waits until something holds; rejects with what was waited for. */
export async function until(
  what: string | (() => string),
  holds: () => boolean | Promise<boolean>,
  timeoutMs = 30_000,
  everyMs = 50,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await holds())) {
    if (performance.now() > deadline) {
      const text = typeof what === "string" ? what : what();
      throw new Error(`waited ${timeoutMs} ms for ${text}`);
    }
    await sleep(everyMs);
  }
}
