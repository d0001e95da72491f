/** [S17] Clocks that are off by minutes, or that move, start no rotation before its time. */
import {
  DAY,
  HOUR,
  type Instant,
  parseDuration,
  parseInstant,
  SECOND,
} from "../../../src/util/time.ts";
import { issuingObject, type StoredApiKey } from "./view.ts";
import type { CreateWatcher } from "./watcher.ts";

const JITTER_SHARE = 0.1;

export const earlyRotation: CreateWatcher = (world, circumstances) => ({
  onConsoleChange: (change) => {
    if (change.kind !== "keyIssued" || world.hasMeddled) return undefined;
    const due = dueOf(issuingObject(world, change.keyId));
    const early = due - world.kernel.now - 2 * circumstances.widestSkew;
    return early <= SECOND ? undefined : `rotated ${Math.round(early)} ms before it was due`;
  },
});

/** When a key that is replaced since it is due can be due at the earliest. */
function dueOf(object: StoredApiKey | undefined): Instant {
  const { attempt, current } = object?.status ?? {};
  if (object === undefined || current === undefined || attempt?.reason !== "RotationDue") return 0;
  const issueTime = parseInstant(current.issueTime) ?? 0;
  const lifetime = (parseInstant(current.expirationTime) ?? 0) - issueTime;
  return issueTime + leastPeriod(object, lifetime);
}

/** From the issue to the earliest moment that the jitter allows. */
function leastPeriod({ spec }: StoredApiKey, lifetime: number): number {
  const { renewBefore, renewBeforePercentage = 33 } = spec.rotation ?? {};
  const before =
    renewBefore === undefined
      ? (lifetime * renewBeforePercentage) / 100
      : (parseDuration(renewBefore) ?? DAY);
  const left = Math.min(Math.max(before, HOUR), lifetime - HOUR);
  const longest = lifetime - left;
  return Math.max(longest - JITTER_SHARE * left, longest / 2);
}
