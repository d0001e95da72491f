/** What a deletion lists, ends and reports. Pure. */
import { toEvent } from "../../../api/events.ts";
import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import { blockedSince, cleanupDeadline } from "../../../reconciler/rules/cleanup.ts";
import type { Released, Waiting } from "../../../reconciler/rules/outcome.ts";
import { certainTime } from "../../../util/agreed-time.ts";
import type { Instant } from "../../../util/time.ts";
import type { IssuedPair } from "../secret/pair.ts";
import { pairIn } from "../secret/view.ts";
import type { Timing } from "../timing.ts";
import { accountOf, isOfGoneAccount } from "./accounts.ts";
import { mayWork } from "./listed-keys.ts";
import { type KeyToEnd, keyToEnd } from "./maintenance.ts";
import type { ApiKeySnapshot } from "./snapshot.ts";
import { listedKeyIds } from "./status.ts";

/** A pending pair has a key in the console, which the status must list like the others. */
export function unlistedPair({
  status,
  held,
  pending,
  target,
}: ApiKeySnapshot): IssuedPair | undefined {
  if (held !== undefined) return held.pair;
  const listed = listedKeyIds(status);
  return [pairIn(pending), pairIn(target)].find(
    (pair) => pair !== undefined && !listed.includes(pair.keyId),
  );
}

/** Whether the deletion no longer waits for the console. */
export function isCleanupOverdue(
  { object }: ApiKeySnapshot,
  { now }: ClockReading,
  { deletionPatienceMs }: Timing,
): boolean {
  return now >= cleanupDeadline(blockedSince(object), now, deletionPatienceMs);
}

/** The key to be ended next. */
export function keyToEndAtDeletion(
  snapshot: ApiKeySnapshot,
  at: ClockReading,
): KeyToEnd | undefined {
  return keyToEnd(keysToEnd(snapshot), snapshot, certainTime(at));
}

/** What a deletion waits for whose keys can be ended once their connection can be used again. */
export function waitToEndKeys(snapshot: ApiKeySnapshot, at: ClockReading): Waiting | undefined {
  const now = certainTime(at);
  for (const key of keysToEnd(snapshot)) {
    const account = accountOf(key, snapshot);
    const isEndable = account.kind === "Waiting" && account.canEndKeys && account.isGone !== true;
    if (isEndable && mayWork(key) && now < key.expirationTime) return account;
  }
  return undefined;
}

/** None if the Secret, and with it its keys, is retained. */
function keysToEnd(snapshot: ApiKeySnapshot): ReturnType<typeof keysOf> {
  return snapshot.spec.secret.deletionPolicy === "Retain" ? [] : keysOf(snapshot);
}

/**
 * Every key whose pair was stored, with its state. The key in use comes last: if the console's list lacks it although
 * it works, or because an earlier run has revoked it, the list proves nothing about the other keys either.
 */
function keysOf({ status: { current, superseded } }: ApiKeySnapshot) {
  const isListed = superseded.some(({ keyId }) => keyId === current?.keyId);
  return current === undefined || isListed
    ? superseded
    : [...superseded, { ...current, state: "Live" as const, answeredCall: undefined }];
}

/**
 * Allows removal of the finalizer. The event names the keys that stay valid in the console. A key for which the console
 * has answered a call with success is not among them, even if no read has confirmed its end.
 */
export function release(snapshot: ApiKeySnapshot, at: ClockReading): Released {
  const ids = liveKeyIds(snapshot, certainTime(at));
  const note = `Keys that stay valid until they expire: ${ids.join(", ")}.`;
  const event = toEvent("KeysNotRevoked", "Delete", note);
  return { kind: "Released", events: ids.length === 0 ? [] : [event] };
}

function liveKeyIds(snapshot: ApiKeySnapshot, now: Instant): readonly string[] {
  const { superseded, orphaned } = snapshot.status;
  const ended = superseded.filter(({ state }) => state !== "Live").map(({ keyId }) => keyId);
  const alive = [
    ...keysOf(snapshot).filter(({ state }) => state === "Live"),
    ...orphaned.filter(({ keyId }) => keyId === undefined || !ended.includes(keyId)),
  ].filter((key) => now < key.expirationTime && !isOfGoneAccount(key, snapshot));
  return [...new Set(alive.map(({ keyId }) => keyId ?? "a key of unknown id"))];
}
