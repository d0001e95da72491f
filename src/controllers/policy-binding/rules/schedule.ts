/** When the console is asked although nothing has changed. Pure. */
import { HOUR, type Instant, MINUTE, parseInstant } from "../../../util/time.ts";
import { stableFraction } from "../../frame/rules/stable-fraction.ts";

const DRIFT_INTERVAL = 10 * MINUTE;
/** After a correction somebody may be changing the policies back: ask again soon. */
const RECHECK_INTERVAL = MINUTE;
const CONTENTION_WINDOW = HOUR;
const MAX_CORRECTIONS = 5;
/** `lastSyncTime` is written again only when it is this old, so that an idle operator writes nothing. */
const REFRESH_SYNCED_AT = HOUR;

/**
 * The drift check that follows an answer at `askedAt`. Checks sit on a grid of ten minutes that each account
 * shifts by its uid: they spread out, and a restart moves none of them.
 */
export function nextDriftCheck(
  uid: string,
  askedAt: Instant,
  corrections: readonly Instant[],
  now: Instant,
): Instant {
  const phase = Math.floor(stableFraction(uid) * DRIFT_INTERVAL);
  const slot = Math.floor((askedAt - phase) / DRIFT_INTERVAL);
  const regular = phase + (slot + 1) * DRIFT_INTERVAL;
  return recent(corrections, now).length === 0
    ? regular
    : Math.min(regular, askedAt + RECHECK_INTERVAL);
}

/** When drift may be corrected again; `undefined` where it may be at once. */
export function contendedUntil(corrections: readonly Instant[], now: Instant): Instant | undefined {
  const inWindow = recent(corrections, now);
  if (inWindow.length < MAX_CORRECTIONS) return undefined;
  return Math.max(...inWindow) + CONTENTION_WINDOW;
}

/** The corrections that still count; a clock that was set back counts none twice. */
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
