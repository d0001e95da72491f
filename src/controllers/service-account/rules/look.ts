/** When the console is asked about an account. Pure. */

import { type Instant, MINUTE, parseDuration, SECOND } from "../../../util/time.ts";
import type { ClockReading } from "../../frame/clock-reading.ts";
import type { ConnectionLookup } from "../../frame/context.ts";
import { consoleURLOf } from "./desired-account.ts";
import type { AccountSnapshot, AccountState, KnownAccount } from "./snapshot.ts";

/** A healthy account is looked at this often, an unhealthy one sooner. */
const LOOK_EVERY_MS = 10 * MINUTE;
const LOOK_SOON_MS = MINUTE;
const JITTER = 0.2;
/** Many keys may come at once: their account is looked at for them no more often than this. */
const KEYS_LOOK_MS = 10 * SECOND;
/** How long an answer of call 2 that never came may still take effect, on top of its time-out. */
const SETTLE_MS = 10 * SECOND;
const SHORTEST_SETTLE_MS = 20 * SECOND;

/** At its time; at once after a change, and where the account has not been found at this console. */
export function isLookDue(account: KnownAccount, snapshot: AccountSnapshot, now: Instant): boolean {
  const { object, request, state, unlistedKeyTime } = snapshot;
  const { look } = state;
  const consoleURL = consoleURLOf(snapshot);
  const isProven = account.consoleURL === consoleURL || look?.finding !== undefined;
  return (
    request !== undefined ||
    !isProven ||
    look?.generation !== (object.metadata.generation ?? 0) ||
    look.saId !== account.saId ||
    look.consoleURL !== consoleURL ||
    now >= nextLookTime(state, unlistedKeyTime, now)
  );
}

/** At its regular time, or soon after a key came into use that the last look was too early for. */
export function nextLookTime(
  { look }: AccountState,
  unlistedKeyTime: Instant | undefined,
  now: Instant,
): Instant {
  if (look === undefined) return now;
  const { startTime, nextTime } = look;
  const isOutdated =
    unlistedKeyTime !== undefined &&
    unlistedKeyTime <= now &&
    // Times in a status have whole seconds.
    unlistedKeyTime >= Math.floor(startTime / SECOND) * SECOND;
  return isOutdated ? Math.min(nextTime, startTime + KEYS_LOOK_MS) : nextTime;
}

/** When to look again after a look. */
export function lookTimeAfter({ now, fraction }: ClockReading, isHealthy: boolean): Instant {
  return now + (isHealthy ? LOOK_EVERY_MS : LOOK_SOON_MS) * (1 + JITTER * (fraction - 0.5));
}

/** How long after its start an attempt without an answer may still take effect. */
export function settleMs(connection: ConnectionLookup): number {
  const timeout = connection.ok ? parseDuration(connection.access.spec.limits.timeout) : undefined;
  return Math.max(SHORTEST_SETTLE_MS, (timeout ?? 0) + SETTLE_MS);
}
