/**
 * A syncBindings call without a usable response may take effect at any later time, and then binds policies that were
 * withdrawn since. Until that is unlikely, the bindings are read more often. Pure.
 */
import type { ServiceAccountStatus } from "../../../api/service-account.ts";
import { type IamErrorCode, isIamError } from "../../../iam/errors.ts";
import { type Instant, MINUTE, parseInstant, SECOND, toIso8601 } from "../../../util/time.ts";
import { WATCH_MS } from "../../sync-watch.ts";
import { type PolicySet, union } from "./policy-set.ts";
import type { BindingView } from "./views.ts";

export interface UnansweredSync {
  /** When the operator gave up the last such call. */
  readonly time: Instant;
  /** Policies that such calls may still bind. */
  readonly policyIds: PolicySet;
}

/** When the bindings are read after the call was given up. */
const READ_AFTER_MS = [1, 2, 5, 10, 20, 40, 60].map((seconds) => seconds * SECOND);
/** While the call may bind policies that are withdrawn: the shortest pause between two reads. */
const URGENT_READ_MS = 3 * SECOND;
/** Later, the pause grows with the age of the call. */
const URGENT_READS_PER_AGE = 20;
/** A console that is down makes no more writes than this. */
const REWRITE_MS = MINUTE;

const UNANSWERED: ReadonlySet<IamErrorCode> = new Set([
  "Unavailable",
  "Timeout",
  "MalformedResponse",
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

/** The time until which a call is watched for. */
export function watchedUntil({ time }: UnansweredSync): Instant {
  return time + WATCH_MS;
}

/** The call, unless it is too old to be watched for. */
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

/** Unchanged where the stored text says nearly the same: repeated failures are not worth a write each. */
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
 * What an earlier process may have left: a PolicyBinding's intent that the account's record does not cover. That
 * process may have ended between its call and the response.
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

/** The next read because of the call; `undefined` where the regular checks are enough. */
export function nextRead(
  { time, policyIds }: UnansweredSync,
  bound: PolicySet,
  askedAt: Instant,
): Instant | undefined {
  const age = Math.max(0, askedAt - time);
  const bindsWithdrawn = policyIds.some((id) => !bound.includes(id));
  if (bindsWithdrawn) return time + age + Math.max(URGENT_READ_MS, age / URGENT_READS_PER_AGE);
  const after = READ_AFTER_MS.find((ms) => ms > age);
  return after === undefined ? undefined : time + after;
}

/** For a condition; empty where no call is watched for. */
export function describeUnanswered(unanswered: UnansweredSync | undefined): string {
  if (unanswered === undefined) return "";
  return ` An earlier syncBindings call had no usable response and may still take effect: the bindings are read at short intervals until ${toIso8601(watchedUntil(unanswered))}.`;
}
