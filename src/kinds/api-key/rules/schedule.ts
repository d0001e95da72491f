/** Due times in the life of a key. Pure. Every time is an Instant, every duration is in milliseconds. */
import type { ApiKeySpec } from "../../../api/api-key.ts";
import { stableFraction } from "../../../reconciler/rules/stable-fraction.ts";
import { type AgreedTime, certainTime } from "../../../util/agreed-time.ts";
import { nextOpen } from "../../../util/cron.ts";
import { DAY, HOUR, type Instant, parseDuration } from "../../../util/time.ts";

/** Renewals of keys issued at the same time are spread over this share of the renewal margin. */
const JITTER_SHARE = 0.1;
const SAFETY_SHARE = 0.1;
const DEFAULT_PERCENTAGE = 33;
/** The minimum time for consumers to pick up a new Secret. */
const MIN_OVERLAP = 5 * 60_000;

interface Lifetime {
  readonly issueTime: Instant;
  readonly expirationTime: Instant;
}

/** A key's expiry, counted from just before the issue call. */
export function expiryOf(issueTime: Instant, expiresInDays: number): Instant {
  return issueTime + expiresInDays * DAY;
}

/**
 * When the key must be renewed: before its expiry by the configured margin, earlier by a jitter that depends only on
 * the object, moved into a rotation window if there are any. A window never delays the renewal past {@link
 * safetyLimit}. If a window has passed unused by `now`, the next window counts.
 */
export function renewalTime(
  { issueTime, expirationTime }: Lifetime,
  rotation: ApiKeySpec["rotation"],
  uid: string,
  now: Instant,
): Instant {
  const limit = safetyLimit({ issueTime, expirationTime });
  const due = issueTime + periodOf(rotation, expirationTime - issueTime, uid);
  const first = inWindow(due, rotation, limit);
  const next = now <= first ? first : inWindow(now, rotation, limit);
  return Math.round(next > now ? next : first);
}

/**
 * While clocks contradict each other, a renewal waits until no clock contradicts it, but not beyond the {@link
 * safetyLimit}: a single clock that is behind lets no key expire.
 */
export function isRenewalDue(key: Lifetime, renewal: Instant, at: AgreedTime): boolean {
  return certainTime(at) >= renewal || at.now >= Math.max(renewal, safetyLimit(key));
}

/** When a replacement that is not urgent may begin: now, or when the next window opens, but no later than {@link safetyLimit}. */
export function welcomeTime(
  key: Lifetime,
  rotation: ApiKeySpec["rotation"],
  now: Instant,
): Instant {
  return inWindow(now, rotation, safetyLimit(key));
}

/** From the issue of a key to its renewal, without windows. */
function periodOf(rotation: ApiKeySpec["rotation"], lifetime: number, uid: string): number {
  const before = renewBefore(rotation, lifetime);
  const longest = lifetime - before;
  // Spreads the renewals of keys issued on the same day.
  return Math.max(longest - stableFraction(uid) * JITTER_SHARE * before, longest / 2);
}

/** From this time on, a rotation waits for nothing: a tenth of the lifetime before expiry, at least an hour. */
export function safetyLimit({ issueTime, expirationTime }: Lifetime): Instant {
  return expirationTime - Math.max(SAFETY_SHARE * (expirationTime - issueTime), HOUR);
}

/** When a key was superseded, and when it expires. */
export interface Overlap {
  readonly supersededTime: Instant;
  readonly expirationTime: Instant;
}

/** That of a key which a lost or restored status no longer lists: the key in use has replaced it. */
export function unlistedOverlap({ issueTime }: { readonly issueTime: Instant }): Overlap {
  return { supersededTime: issueTime, expirationTime: Number.POSITIVE_INFINITY };
}

/**
 * When the overlap of the superseded key ends. The extension, if there is one, is added while it is not certain that no
 * Pod uses an older version of the Secret.
 */
export function overlapEnd(
  superseded: Overlap,
  { overlap, maxOverlapExtension }: ApiKeySpec["rotation"],
  isConverged: boolean,
): Instant {
  const least = Math.max(parseDuration(overlap) ?? DAY, MIN_OVERLAP);
  const extension = isConverged ? 0 : (parseDuration(maxOverlapExtension ?? "0s") ?? 0);
  return Math.min(superseded.supersededTime + least + extension, superseded.expirationTime);
}

function renewBefore(rotation: ApiKeySpec["rotation"], lifetime: number): number {
  const percentage = rotation.renewBeforePercentage ?? DEFAULT_PERCENTAGE;
  const wanted =
    rotation.renewBefore === undefined
      ? (lifetime * percentage) / 100
      : (parseDuration(rotation.renewBefore) ?? 0);
  return Math.min(Math.max(wanted, HOUR), lifetime - HOUR);
}

function inWindow(due: Instant, rotation: ApiKeySpec["rotation"], limit: Instant): Instant {
  const opening = nextWindow(rotation, due);
  return opening === undefined ? due : Math.min(opening, Math.max(limit, due));
}

/** The first moment at or after `from` at which a window is open; `undefined` if no window opens any more. */
export function nextWindow(
  { windows }: Pick<ApiKeySpec["rotation"], "windows">,
  from: Instant,
): Instant | undefined {
  const openings = windows.flatMap(
    ({ schedule, timeZone, duration }) =>
      nextOpen({ schedule, timeZone, durationMs: parseDuration(duration) ?? 0 }, from) ?? [],
  );
  return openings.length === 0 ? undefined : Math.min(...openings);
}
