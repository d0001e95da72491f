/** When the consumers of a Secret are counted again. Pure. */
import { type Instant, MINUTE, SECOND } from "../../util/time.ts";

const SOONEST_MS = 10 * SECOND;
const LATEST_MS = 10 * MINUTE;
/** Nothing is waited for: new Pods come and go, and none of them is stale. */
const AT_REST_MS = 30 * MINUTE;

export interface CountProgress {
  readonly stale: number;
  readonly replacementTime: Instant | undefined;
  /** When a workload may be restarted again. */
  readonly until: Instant | undefined;
}

/** Often while Pods are about to catch up, ever less often the longer they do not. */
export function nextCountMs(
  { stale, replacementTime, until }: CountProgress,
  now: Instant,
): number {
  if (stale === 0) return AT_REST_MS;
  const age = now - (replacementTime ?? now);
  const usual = Math.min(Math.max(age / 10, SOONEST_MS), LATEST_MS);
  return until === undefined ? usual : Math.min(usual, Math.max(until - now, SECOND));
}
