/** When the consumers of a Secret are counted again. Pure. */
import { type Instant, MINUTE, SECOND } from "../../util/time.ts";

const SOONEST_MS = 10 * SECOND;
const LATEST_MS = 10 * MINUTE;
/** Without stale Pods, the operator waits for nothing: new Pods are never stale. */
const AT_REST_MS = 30 * MINUTE;

interface CountProgress {
  readonly stale: number;
  readonly replacementTime: Instant | undefined;
  /** When a workload may be restarted again. */
  readonly until: Instant | undefined;
}

/** Milliseconds until the next count: short while Pods are about to catch up, longer and longer if they do not. */
export function nextCountMs(
  { stale, replacementTime, until }: CountProgress,
  now: Instant,
): number {
  if (stale === 0) return AT_REST_MS;
  const age = now - (replacementTime ?? now);
  const usual = Math.min(Math.max(age / 10, SOONEST_MS), LATEST_MS);
  return until === undefined ? usual : Math.min(usual, Math.max(until - now, SECOND));
}
