/**
 * A syncBindings call without a usable response may take effect at any later time and then bind policies that were
 * withdrawn in the meantime. Until that is unlikely, the operator reads the bindings more often. Pure.
 */

import { WATCH_MS } from "../../../accounts/sync-watch.ts";
import type { ServiceAccountStatus } from "../../../api/service-account.ts";
import { type IamErrorCode, isIamError } from "../../../console/errors.ts";
import { type Instant, MINUTE, parseInstant, SECOND, toIso8601 } from "../../../util/time.ts";
import { type PolicySet, union } from "./policy-set.ts";
import type { BindingView } from "./views.ts";

export interface UnansweredSync {
  /** When the operator gave up on the last such call. */
  readonly time: Instant;
  /** Policies that such calls may still bind. */
  readonly policyIds: PolicySet;
}

/** When the operator reads the bindings, in milliseconds after it gave up on the call. */
const READ_AFTER_MS = [1, 2, 5, 10, 20, 40, 60].map((seconds) => seconds * SECOND);
/** The shortest pause between two reads while the call may bind withdrawn policies. */
const URGENT_READ_MS = 3 * SECOND;
/** Later, the pause grows: the age of the call divided by this. */
const URGENT_READS_PER_AGE = 20;
/** While the console is down, the stored time is rewritten at most once in this interval. */
const REWRITE_MS = MINUTE;

const UNANSWERED: ReadonlySet<IamErrorCode> = new Set([
  "Unavailable",
  "Timeout",
  "MalformedResponse",
  "ChangeNotApplied",
]);

/** Whether a call that failed with this error may still take effect: no response, a 5xx, or an unreadable response. */
export function mayTakeEffect(error: unknown): boolean {
  return !isIamError(error) || (error.sent && UNANSWERED.has(error.code));
}

export function addUnanswered(
  known: UnansweredSync | undefined,
  policyIds: PolicySet,
  time: Instant,
): UnansweredSync {
  return { time, policyIds: union(known?.policyIds ?? [], policyIds) };
}

/** The time when the operator stops watching for the call. */
export function watchedUntil({ time }: UnansweredSync): Instant {
  return time + WATCH_MS;
}

/** The call; `undefined` after the watch for it has ended. */
export function stillWatched(
  unanswered: UnansweredSync | undefined,
  now: Instant,
): UnansweredSync | undefined {
  return unanswered !== undefined && now < watchedUntil(unanswered) ? unanswered : undefined;
}

type Stored = NonNullable<ServiceAccountStatus["bindings"]>["unansweredSync"];

export function fromStored(stored: Stored, now: Instant): UnansweredSync | undefined {
  const time = parseInstant(stored?.time);
  if (stored === undefined || time === undefined) return undefined;
  return { time: Math.min(time, now), policyIds: stored.policyIds ?? [] };
}

/** Keeps the stored time if it is less than a minute older, so that repeated failures do not cause a write each. */
export function toStored(unanswered: UnansweredSync, stored: Stored): NonNullable<Stored> {
  const { time, policyIds } = unanswered;
  const before = parseInstant(stored?.time);
  const isRecent = before !== undefined && time >= before && time - before < REWRITE_MS;
  return {
    time: isRecent && stored !== undefined ? stored.time : toIso8601(time),
    policyIds: [...policyIds],
  };
}

/**
 * An unanswered call of an earlier process: a PolicyBinding has an intent that is missing from the account's record.
 * That process may have ended between its call and the response.
 */
export function leftByEarlierProcess(
  bindings: readonly BindingView[],
  recorded: PolicySet,
  now: Instant,
): UnansweredSync | undefined {
  const intended = union(...bindings.map(({ applied }) => applied));
  return intended.every((id) => recorded.includes(id))
    ? undefined
    : { time: now, policyIds: intended };
}

/** The time of the next read because of the call; `undefined` if the regular checks are enough. */
export function nextRead(
  { time, policyIds }: UnansweredSync,
  bound: PolicySet,
  lastReadTime: Instant,
): Instant | undefined {
  const age = Math.max(0, lastReadTime - time);
  const bindsWithdrawn = policyIds.some((id) => !bound.includes(id));
  if (bindsWithdrawn) return time + age + Math.max(URGENT_READ_MS, age / URGENT_READS_PER_AGE);
  const after = READ_AFTER_MS.find((ms) => ms > age);
  return after === undefined ? undefined : time + after;
}

/** The text for a condition; empty if there is no such call. */
export function describeUnanswered(unanswered: UnansweredSync | undefined): string {
  if (unanswered === undefined) return "";
  return ` An earlier syncBindings call had no usable response and may still take effect: the bindings are read at short intervals until ${toIso8601(watchedUntil(unanswered))}.`;
}
