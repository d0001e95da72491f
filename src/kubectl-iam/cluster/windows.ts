/** Whether the operator renews a key outside its rotation windows. Pure. */
import type { ApiKey } from "../../api/api-key.ts";
import { nextOpen } from "../../util/cron.ts";
import { type Instant, parseDuration, parseInstant, toIso8601 } from "../../util/time.ts";
import { unobserved } from "./wait.ts";

/** Why the renewal in the status comes while no window is open; `undefined` if a window is open then, or it is overdue. */
export function whyOutsideWindows(apiKey: ApiKey, now: Instant): string | undefined {
  const { windows = [] } = apiKey.spec.rotation ?? {};
  const renewal = parseInstant(apiKey.status?.renewalTime);
  const isKnown = unobserved(apiKey, apiKey) === undefined;
  if (windows.length === 0 || renewal === undefined || renewal <= now || !isKnown) return undefined;
  const openings = windows.flatMap(
    ({ schedule, timeZone = "UTC", duration }) =>
      nextOpen({ schedule, timeZone, durationMs: parseDuration(duration) ?? 0 }, renewal) ?? [],
  );
  if (openings.length === 0) return "no window opens any more";
  const next = Math.min(...openings);
  return next <= renewal
    ? undefined
    : `the next window opens at ${toIso8601(next)}, too close to the expiry`;
}
