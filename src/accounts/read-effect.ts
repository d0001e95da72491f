import type { Effect } from "../console/evidence.ts";
import { type Clock, SECOND } from "../util/time.ts";

/** A list may come from a replica that is a little behind. */
const READ_AGAIN_MS = [SECOND, 3 * SECOND];

/** Reads what a call has changed, and again after one and three seconds if the effect is not shown. */
export async function readEffect<T>(
  read: () => Promise<T>,
  judge: (seen: T) => Effect,
  { clock, signal }: { readonly clock: Pick<Clock, "sleep">; readonly signal: AbortSignal },
): Promise<{ readonly effect: Effect; readonly seen: T }> {
  let seen = await read();
  for (const ms of READ_AGAIN_MS) {
    if (judge(seen) !== "NotShown") break;
    await clock.sleep(ms, signal);
    seen = await read();
  }
  return { effect: judge(seen), seen };
}
