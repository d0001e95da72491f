/**
 * The time that a process goes by. It can see up to three clocks: its own, the API server's and a console's. A single
 * clock that is wrong, for a moment or for good, is outvoted. Pure, except {@link agreedClock}.
 */
import { type Clock, type Instant, MINUTE, type SeenClocks } from "./time.ts";

/** Clocks that are not further apart agree. */
export const CLOCK_TOLERANCE_MS = 5 * MINUTE;

export interface AgreedTime {
  /** The process's own time, unless the others show another: then the time that two of three clocks show. */
  readonly now: Instant;
  /**
   * Present while no two clocks agree, or if it is not certain that it is as late as `now`: the earliest time that a
   * server shows.
   */
  readonly earliest?: Instant;
}

/** The time by all visible clocks. Between the process and one server alone, the server decides. */
export function agreedTime({ wall, apiServer, console }: SeenClocks): AgreedTime {
  const servers = [apiServer, console].filter((time) => time !== undefined).toSorted(byTime);
  const [first, last] = [servers[0], servers.at(-1)];
  if (first === undefined || last === undefined) return { now: wall };
  const other = Math.min(Math.max(wall, first), last);
  const now = agree(wall, other) ? wall : other;
  // A single server is contradicted by the process itself.
  if (servers.length === 1) return now === wall ? { now } : { now, earliest: Math.min(wall, now) };
  const isContradicted = !agree(wall, now) && !agree(first, last);
  const isEarliest = first >= now || agree(first, now);
  return isEarliest && !isContradicted ? { now } : { now, earliest: first };
}

function byTime(a: Instant, b: Instant): number {
  return a - b;
}

function agree(a: Instant, b: Instant): boolean {
  return Math.abs(a - b) <= CLOCK_TOLERANCE_MS;
}

/**
 * The time for decisions that do harm if they come too early: to end, to unbind, to forget or to give up. No server's
 * clock shows an earlier time.
 */
export function certainTime({ now, earliest }: AgreedTime): Instant {
  return earliest ?? now;
}

/**
 * A stored time that lies in the future was stored by a clock that ran ahead: it counts as now. Unchanged while clocks
 * contradict each other.
 */
export function correctedTime<Time extends Instant | undefined>(
  stored: Time,
  { now, earliest }: AgreedTime,
): Time | Instant {
  const isFuture = stored !== undefined && stored > now + CLOCK_TOLERANCE_MS;
  return isFuture && earliest === undefined ? now : stored;
}

/**
 * Milliseconds that are left of a pause that began at `since`. None if it is over, or if the clock was set back since it
 * began: how much of it is left is unknown.
 */
export function remainingMs(since: Instant, pauseMs: number, now: Instant): number {
  if (since > now + CLOCK_TOLERANCE_MS) return 0;
  return Math.min(Math.max(since + pauseMs - now, 0), pauseMs);
}

/** Clocks that contradict each other are compared again after this long. */
const CONTRADICTED_MS = 5 * MINUTE;

/**
 * Milliseconds until it is certain that the instant has come, at least 0. While clocks contradict each other, the wait
 * is not longer than the process's own time says, or than it takes to compare the clocks again.
 */
export function msUntil(instant: Instant, at: AgreedTime): number {
  const certainMs = Math.max(instant - certainTime(at), 0);
  return at.earliest === undefined
    ? certainMs
    : Math.min(certainMs, Math.max(instant - at.now, CONTRADICTED_MS));
}

/** The time of process and API server, if they agree. */
export function undisputedTime(clock: Pick<Clock, "now" | "seen">): Instant | undefined {
  const { wall, apiServer } = seenBy(clock);
  return apiServer !== undefined && agree(wall, apiServer) ? wall : undefined;
}

/** The process's own time, whatever other clocks show. */
export function wallTime(clock: Pick<Clock, "now" | "seen">): Instant {
  return seenBy(clock).wall;
}

export function readTime(clock: Pick<Clock, "now" | "seen">): AgreedTime {
  return agreedTime(seenBy(clock));
}

function seenBy(clock: Pick<Clock, "now" | "seen">): SeenClocks {
  return clock.seen?.() ?? { wall: clock.now() };
}

/** A clock that shows the agreed time of what `base` and the servers show. */
export function agreedClock(base: Clock, servers: () => Omit<SeenClocks, "wall">): Clock {
  const seen = () => ({ ...seenBy(base), ...servers() });
  return {
    now: () => agreedTime(seen()).now,
    seen,
    monotonic: () => base.monotonic(),
    sleep: (ms, signal) => base.sleep(ms, signal),
    setTimer: (ms, callback) => base.setTimer(ms, callback),
    yieldToEventLoop: () => base.yieldToEventLoop?.(),
  };
}
