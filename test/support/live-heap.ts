import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** How much more the heap holds after `make` than before it, in bytes, while what it answers is in use. */
export async function heldBy(make: () => unknown): Promise<number> {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const made = await make();
  // Weak references are cleared between turns of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  const held = process.memoryUsage().heapUsed - before;
  return made === undefined ? Number.NaN : held;
}
