import { setTimeout as sleep } from "node:timers/promises";

/** Longer than a busy machine takes for what is to come at once. */
const PATIENCE_MS = 120_000;

/** Waits until something holds; rejects with what was waited for. */
export async function until(
  what: string | (() => string),
  holds: () => boolean | Promise<boolean>,
  timeoutMs = PATIENCE_MS,
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
