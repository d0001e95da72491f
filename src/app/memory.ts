/** Bounds the memory for new objects. Without this, V8 takes far more of it on machines with much memory. */
import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** The size, in bytes, at which the space for new objects stops growing. */
export const MAX_NEW_SPACE_BYTES = 16 * 2 ** 20;

/**
 * Needs no command line flags, which only some starts have. V8 reads how the space for new objects grows at every
 * collection, but its maximum only at the start: when the space has reached that size, its growth is set to none.
 */
export function limitYoungGeneration(): void {
  const observer = new PerformanceObserver(() => {
    if (newSpaceBytes() < MAX_NEW_SPACE_BYTES) return;
    setFlagsFromString("--semi-space-growth-factor=1");
    observer.disconnect();
  });
  observer.observe({ entryTypes: ["gc"] });
}

function newSpaceBytes(): number {
  return (
    getHeapSpaceStatistics().find((space) => space.space_name === "new_space")?.space_size ?? 0
  );
}
