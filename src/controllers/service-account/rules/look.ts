/** When the console is asked about an account, and for the list of all accounts. Pure. */

import { DAY, HOUR, type Instant, MINUTE, parseDuration, SECOND } from "../../../util/time.ts";
import type { ClockReading } from "../../frame/clock-reading.ts";
import type { ConnectionLookup } from "../../frame/context.ts";
import { consoleURLOf } from "./desired-account.ts";
import type { AccountSnapshot, KnownAccount, ListTimes } from "./snapshot.ts";

/** The share of the connection's rate limit that reading its accounts may take. */
const POLL_SHARE = 0.2;
const DEFAULT_INTERVAL_MS = 5 * MINUTE;
/** An account that is not Ready is read this often, within the same share. */
const UNREADY_INTERVAL_MS = MINUTE;
/** Between this share of the interval and the whole of it: what was read together is not read together again. */
const SPREAD_FROM = 0.9;
/** Many keys may come at once: their account is looked at for them no more often than this. */
const KEYS_LOOK_MS = 10 * SECOND;
/** From the end of an attempt with an unknown outcome to the further reads: a late call may still take effect. */
const AFTER_RECOVERY_MS = [MINUTE, 5 * MINUTE, 15 * MINUTE, 60 * MINUTE];
/** From the last creation over a connection to a list of all its accounts: a gateway may have sent the creation twice. */
const AFTER_CREATION_MS = 15 * MINUTE;
/** Between two lists that people ask for. */
const REQUESTED_LISTS_MS = 10 * SECOND;
/** A call may take effect at any time. */
const AUDIT_INTERVAL_MS = DAY;
/** How long an answer of createServiceAccount that never came may still take effect, on top of its time-out. */
const SETTLE_MS = 10 * SECOND;
const SHORTEST_SETTLE_MS = 20 * SECOND;

/** At its time; at once after a change or a request, and if the account has not been found at this console. */
export function isLookDue(account: KnownAccount, snapshot: AccountSnapshot, now: Instant): boolean {
  const { object, request, state, keyRequests } = snapshot;
  const { look } = state;
  const consoleURL = consoleURLOf(snapshot);
  const isProven = account.consoleURL === consoleURL || look?.finding !== undefined;
  return (
    request !== undefined ||
    !isProven ||
    look?.generation !== (object.metadata.generation ?? 0) ||
    look.saId !== account.saId ||
    look.consoleURL !== consoleURL ||
    keyRequests.some((each) => !look.keyRequests.includes(each)) ||
    now >= nextLookTime(snapshot, now)
  );
}

/**
 * At its regular time, sooner after an attempt with an unknown outcome, and soon after a key came into use that the last look
 * was too early for.
 */
export function nextLookTime(snapshot: AccountSnapshot, now: Instant): Instant {
  const { state, unlistedKeyTime, keyRecoveryTime } = snapshot;
  if (state.look === undefined) return now;
  const { startTime, nextTime } = state.look;
  const isOutdated =
    unlistedKeyTime !== undefined &&
    unlistedKeyTime <= now &&
    // Times in a status have whole seconds.
    unlistedKeyTime >= Math.floor(startTime / SECOND) * SECOND;
  return Math.min(
    nextTime,
    isOutdated ? startTime + KEYS_LOOK_MS : nextTime,
    afterRecovery(keyRecoveryTime, startTime) ?? nextTime,
  );
}

/** When all accounts are to be listed after a creation with an unknown outcome; `undefined` if they need not be. */
export function nextListTime(
  { state, recoveryTime, object, request }: AccountSnapshot,
  now: Instant,
): Instant | undefined {
  // Until a list shows that the orphaned accounts were deleted.
  if ((object.status?.orphanedAccounts ?? []).length > 0)
    return request === undefined ? (state.listTime ?? 0) + HOUR : now;
  // A process that has just started knows of no earlier list.
  if (recoveryTime === undefined || now >= recoveryTime + DAY) return undefined;
  return afterRecovery(recoveryTime, Math.max(state.listTime ?? 0, recoveryTime));
}

/** Whether all accounts of a connection are to be listed, whichever object's run makes the list. A request brings it forward. */
export function isAuditDue(
  { creationTime, listTime }: ListTimes,
  now: Instant,
  isRequested = false,
): boolean {
  if (isRequested && now >= listTime + REQUESTED_LISTS_MS) return true;
  const afterCreation = creationTime + AFTER_CREATION_MS;
  return now >= (listTime < afterCreation ? afterCreation : listTime + AUDIT_INTERVAL_MS);
}

/** The first further read after one at `lastTime`. */
function afterRecovery(recoveryTime: Instant | undefined, lastTime: Instant): Instant | undefined {
  if (recoveryTime === undefined) return undefined;
  return AFTER_RECOVERY_MS.map((ms) => recoveryTime + ms).find((time) => time > lastTime);
}

/** When to look again after a look. */
export function lookTimeAfter(
  snapshot: AccountSnapshot,
  isHealthy: boolean,
  { now, fraction }: ClockReading,
): Instant {
  const { wanted, sustainable } = intervalsOf(snapshot);
  const interval = Math.max(isHealthy ? wanted : UNREADY_INTERVAL_MS, sustainable);
  // After a start, all accounts are read one after the other: the next reads are spread over the whole interval.
  const isCrowded = snapshot.state.look === undefined && sustainable > wanted;
  const from = isCrowded ? 0 : SPREAD_FROM;
  return now + interval * (from + (1 - from) * fraction);
}

/** The interval that the connection asks for, and the shortest one that stays within the share of its rate limit. */
function intervalsOf({ connection, accountCount }: AccountSnapshot) {
  const spec = connection.ok ? connection.access.spec : undefined;
  if (spec === undefined) return { wanted: DEFAULT_INTERVAL_MS, sustainable: 0 };
  const pollsPerSecond = spec.limits.requestsPerSecond * POLL_SHARE;
  return {
    wanted: parseDuration(spec.accountPollInterval) ?? DEFAULT_INTERVAL_MS,
    sustainable: ((accountCount / pollsPerSecond) * SECOND) / SPREAD_FROM,
  };
}

/** How long after its start an attempt without an answer may still take effect. */
export function settleMs(connection: ConnectionLookup): number {
  const timeout = connection.ok ? parseDuration(connection.access.spec.limits.timeout) : undefined;
  return Math.max(SHORTEST_SETTLE_MS, (timeout ?? 0) + SETTLE_MS);
}
