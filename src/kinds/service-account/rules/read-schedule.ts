/** When an account is read from the console, and when all accounts are listed. Pure. */

import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import { accessToRevoke, type ConnectionLookup } from "../../../reconciler/context.ts";
import { remainingMs } from "../../../util/agreed-time.ts";
import { DAY, HOUR, type Instant, MINUTE, parseDuration, SECOND } from "../../../util/time.ts";
import { consoleURLOf } from "./desired-account.ts";
import { isAttemptListDue } from "./issue-attempts.ts";
import type { AccountSnapshot, ListTimes, WithAccount } from "./snapshot.ts";

/** Maximum share of the connection's rate limit for reading its accounts. */
const POLL_SHARE = 0.2;
const DEFAULT_INTERVAL_MS = 5 * MINUTE;
/** An account that is not Ready is read this often, within the same share. */
const UNREADY_INTERVAL_MS = MINUTE;
/**
 * The next read is between this share of the interval and the whole interval, so that accounts read together are not
 * read together again.
 */
const SPREAD_FROM = 0.9;
/** Minimum interval between two reads of an account for new keys: many keys may be issued at once. */
const KEYS_READ_MS = 30 * SECOND;
/** From the end of an attempt with an unknown outcome to each further read: a late call may still take effect. */
const AFTER_RECOVERY_MS = [MINUTE, 5 * MINUTE, 15 * MINUTE, 60 * MINUTE];
/** From the last creation over a connection to a list of all its accounts: a gateway may have sent the creation twice. */
const AFTER_CREATION_MS = 15 * MINUTE;
/** Minimum interval between two requested lists. */
const REQUESTED_LISTS_MS = 10 * SECOND;
/** Interval of the regular list: a call may take effect at any time. */
const AUDIT_INTERVAL_MS = DAY;
/** How long after its timeout a createServiceAccount call without a response may still take effect. */
const SETTLE_MS = 10 * SECOND;
const SHORTEST_SETTLE_MS = 20 * SECOND;

/**
 * True at the scheduled time; at once after a change or a request, and if the account was not found in this console
 * yet or was another object's. Once in a run.
 */
export function isReadDue(snapshot: WithAccount, now: Instant): boolean {
  const { account, object, request, state, keyRequests, lookTime } = snapshot;
  if (lookTime !== undefined) return false;
  const { lastRead } = state;
  const consoleURL = consoleURLOf(snapshot);
  const isProven = account.consoleURL === consoleURL || lastRead?.finding !== undefined;
  return (
    request !== undefined ||
    !isProven ||
    object.status?.ownership === "Claimed" ||
    lastRead?.generation !== (object.metadata.generation ?? 0) ||
    lastRead.saId !== account.saId ||
    lastRead.consoleURL !== consoleURL ||
    keyRequests.some((each) => !lastRead.keyRequests.includes(each)) ||
    isAttemptListDue(snapshot, now) ||
    now >= nextReadTime(snapshot, now)
  );
}

/**
 * The scheduled time; sooner after an attempt with an unknown outcome, and soon if a key came into use that the last
 * read was too early for.
 */
export function nextReadTime(snapshot: AccountSnapshot, now: Instant): Instant {
  const { state, unlistedKeyTime, keyRecoveryTime } = snapshot;
  if (state.lastRead === undefined) return now;
  const { startTime } = state.lastRead;
  const nextTime = now + remainingMs(startTime, state.lastRead.nextTime - startTime, now);
  const isOutdated =
    unlistedKeyTime !== undefined &&
    unlistedKeyTime <= now &&
    // Times in a status have whole seconds.
    unlistedKeyTime >= Math.floor(startTime / SECOND) * SECOND;
  return Math.min(
    nextTime,
    isOutdated ? startTime + KEYS_READ_MS : nextTime,
    afterRecovery(keyRecoveryTime, startTime) ?? nextTime,
  );
}

/**
 * When all accounts must be listed, after a creation with an unknown outcome or while there are orphaned accounts;
 * `undefined` if no list is needed.
 */
export function nextListTime(
  { state, recoveryTime, object, request }: AccountSnapshot,
  now: Instant,
): Instant | undefined {
  // Hourly, until a list shows that the orphaned accounts were deleted.
  if ((object.status?.orphanedAccounts ?? []).length > 0)
    return request === undefined ? now + remainingMs(state.listTime ?? 0, HOUR, now) : now;
  // A process that has just started does not know of earlier lists.
  if (recoveryTime === undefined || now >= recoveryTime + DAY) return undefined;
  return afterRecovery(recoveryTime, Math.min(state.listTime ?? 0, now));
}

/** Whether all accounts must be listed for the object now. Once in a run. */
export function isListDue(snapshot: AccountSnapshot, now: Instant): boolean {
  const dueTime = nextListTime(snapshot, now);
  return snapshot.listTime === undefined && dueTime !== undefined && now >= dueTime;
}

/** Whether the list that is regular for the object's connection is due. Not in a run that has listed the accounts. */
export function isConnectionListDue(
  { listTimes, listTime, request }: AccountSnapshot,
  now: Instant,
): boolean {
  if (listTimes === undefined || listTime !== undefined) return false;
  return isAuditDue(listTimes, now, request !== undefined);
}

/** Whether all accounts of a connection must be listed, in the run of any object. A request brings the list forward. */
export function isAuditDue(
  { creationTime, listTime }: ListTimes,
  now: Instant,
  isRequested = false,
): boolean {
  if (isRequested && now >= listTime + REQUESTED_LISTS_MS) return true;
  const afterCreation = creationTime + AFTER_CREATION_MS;
  return now >= (listTime < afterCreation ? afterCreation : listTime + AUDIT_INTERVAL_MS);
}

/** Time of the first further read after `lastTime`. */
function afterRecovery(recoveryTime: Instant | undefined, lastTime: Instant): Instant | undefined {
  if (recoveryTime === undefined) return undefined;
  return AFTER_RECOVERY_MS.map((ms) => recoveryTime + ms).find((time) => time > lastTime);
}

/** When to read the account again after a read. */
export function readTimeAfter(
  snapshot: AccountSnapshot,
  isHealthy: boolean,
  { now, fraction }: ClockReading,
): Instant {
  const { wanted, sustainable } = intervalsOf(snapshot);
  const interval = Math.max(isHealthy ? wanted : UNREADY_INTERVAL_MS, sustainable);
  // After a start, all accounts are read in sequence, so the next reads are spread over the whole interval.
  const isCrowded = snapshot.state.lastRead === undefined && sustainable > wanted;
  const from = isCrowded ? 0 : SPREAD_FROM;
  return now + interval * (from + (1 - from) * fraction);
}

/** The interval in the connection's spec, and the shortest interval within the share of its rate limit. */
function intervalsOf({ connection, accountCount }: AccountSnapshot) {
  const spec = accessToRevoke(connection)?.spec;
  if (spec === undefined) return { wanted: DEFAULT_INTERVAL_MS, sustainable: 0 };
  const pollsPerSecond = spec.limits.requestsPerSecond * POLL_SHARE;
  return {
    wanted: parseDuration(spec.accountPollInterval) ?? DEFAULT_INTERVAL_MS,
    sustainable: ((accountCount / pollsPerSecond) * SECOND) / SPREAD_FROM,
  };
}

/** How long after its start, in milliseconds, an attempt without a response may still take effect. */
export function settleMs(connection: ConnectionLookup): number {
  const { timeout = "" } = accessToRevoke(connection)?.spec.limits ?? {};
  return Math.max(SHORTEST_SETTLE_MS, (parseDuration(timeout) ?? 0) + SETTLE_MS);
}
