/** The deadline of a cleanup: a deletion ends even if the console is down (L6). The same for every kind. Pure. */
import { type Condition, type ConditionUpdate, findCondition } from "../../api/conditions.ts";
import { isIamError } from "../../console/errors.ts";
import { RunTimedOut } from "../../util/run-timed-out.ts";
import { type Instant, MINUTE, parseInstant, toIso8601 } from "../../util/time.ts";

/**
 * Whether a failed run blocks a cleanup: the console failed, or the run took too long. No other failure starts the
 * deadline.
 */
export function blocksCleanup(error: unknown): boolean {
  return isIamError(error) || error instanceof RunTimedOut;
}

interface Reported {
  readonly status?: { readonly conditions?: readonly Condition[] | undefined } | undefined;
}

/** How long a blocked cleanup is retried. */
export const CLEANUP_PATIENCE_MS = 10 * MINUTE;
/** The condition whose transition time starts the deadline: a restart or a change of leader keeps it. */
const CLEANUP_BLOCKED = "CleanupBlocked";

/** When the cleanup was first reported as blocked; `undefined` if it is not. */
export function blockedSince({ status }: Reported): Instant | undefined {
  const blocked = findCondition(status?.conditions, CLEANUP_BLOCKED);
  return blocked?.status === "True" ? parseInstant(blocked.lastTransitionTime) : undefined;
}

/** When the operator gives up a cleanup that is blocked since that time; `undefined`: since now. */
export function cleanupDeadline(
  since: Instant | undefined,
  now: Instant,
  patienceMs = CLEANUP_PATIENCE_MS,
): Instant {
  return (since ?? now) + patienceMs;
}

/** The condition of an object that is being deleted; without `reason`, its cleanup is not blocked. */
export function cleanupCondition(
  object: Reported,
  reason: string | undefined,
  now: Instant,
): ConditionUpdate | { readonly type: string; readonly status?: undefined } {
  const type = CLEANUP_BLOCKED;
  if (reason === undefined) return { type };
  const deadline = toIso8601(cleanupDeadline(blockedSince(object), now));
  const message = `The operator cannot clean up in the console (see the Ready condition). It retries until ${deadline}. The first attempt after that is the last one: it removes the finalizer, and an event reports what is left.`;
  return { type, status: "True", reason, message };
}
