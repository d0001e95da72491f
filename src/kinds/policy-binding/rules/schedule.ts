/** When the bindings are read from the console even if nothing has changed. Pure. */

import { stableFraction } from "../../../reconciler/rules/stable-fraction.ts";
import { HOUR, type Instant, MINUTE, parseInstant } from "../../../util/time.ts";

const DRIFT_INTERVAL = 10 * MINUTE;
/** After a correction, another client may change the policies back: the operator checks again soon. */
const RECHECK_INTERVAL = MINUTE;
const CONTENTION_WINDOW = HOUR;
const MAX_CORRECTIONS = 5;
/**
 * If nothing else changes, `lastSyncTime` is written again only when it is this old: an idle operator writes little.
 */
const REFRESH_SYNCED_AT = HOUR;

/**
 * The time of the drift check after an answer at `lastReadTime`. Checks are on a grid of ten minutes, shifted for each
 * account by its uid: they spread out, and a restart does not move them.
 */
export function nextDriftCheck(
  uid: string,
  lastReadTime: Instant,
  corrections: readonly Instant[],
  now: Instant,
): Instant {
  const phase = Math.floor(stableFraction(uid) * DRIFT_INTERVAL);
  const slot = Math.floor((lastReadTime - phase) / DRIFT_INTERVAL);
  const regular = phase + (slot + 1) * DRIFT_INTERVAL;
  return recent(corrections, now).length === 0
    ? regular
    : Math.min(regular, lastReadTime + RECHECK_INTERVAL);
}

/** When the operator may correct drift again; `undefined` if it may do so at once. */
export function contendedUntil(corrections: readonly Instant[], now: Instant): Instant | undefined {
  const inWindow = recent(corrections, now);
  if (inWindow.length < MAX_CORRECTIONS) return undefined;
  return Math.max(...inWindow) + CONTENTION_WINDOW;
}

/** What a stored `contendedUntil` says about the corrections of an earlier process. */
export function storedCorrections(until: string | undefined, now: Instant): readonly Instant[] {
  const last = (parseInstant(until) ?? 0) - CONTENTION_WINDOW;
  return recent(Array<Instant>(MAX_CORRECTIONS).fill(last), now);
}

/** The corrections that still count. After the clock is set back, corrections with a later time do not count. */
export function recent(corrections: readonly Instant[], now: Instant): readonly Instant[] {
  return corrections.filter((at) => at <= now && at > now - CONTENTION_WINDOW);
}

export function isStale(
  time: string | undefined,
  now: Instant,
  maxAge: number = REFRESH_SYNCED_AT,
): boolean {
  const at = parseInstant(time);
  return at === undefined || at > now || now - at >= maxAge;
}
