/** Why no key may be issued now, and whether time or a person will change that. Pure. */
import { DAY, HOUR, type Instant, MINUTE, toIso8601 } from "../../../util/time.ts";
import type { ClockReading } from "../../frame/clock-reading.ts";
import type { Waiting } from "../../frame/rules/outcome.ts";
import { secretNameOf, stagingName } from "../secret/owner.ts";
import { rotationIsRequested } from "./needs.ts";
import { type Lifetime, liveKeyCap, pauseBeyondCap, safetyLimit } from "./schedule.ts";
import type { ApiKeySnapshot, KeyNeed } from "./snapshot.ts";
import type { KeyStatus } from "./status.ts";

/** The condition that is False while a key may not be issued. */
export const ISSUANCE_ALLOWED = "IssuanceAllowed";

/** The reason of a block that ends when an ApiKey of the same account is done; whoever waits is enqueued then. */
export const WAITING_FOR_PEER = "WaitingForPeer";

/** The safety net: whoever waits is enqueued when the attempt is explained. */
const PEER_CHECK_MS = 5 * MINUTE;

type BlockRule = (
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  because: KeyNeed,
) => Waiting | undefined;

/** In order: the first finding is the reason that users see. */
export const blocks: readonly BlockRule[] = [
  accountIsNotReady,
  secretConflict,
  stagingConflict,
  lifetimeIsNotGranted,
  namespaceBudgetIsUsedUp,
  budgetIsUsedUp,
  tooManyLiveKeys,
  peerIsUnsettled,
];

function blocked(state: Waiting["state"], { reason, message }: KeyNeed, afterMs?: number): Waiting {
  const delay = afterMs === undefined ? {} : { afterMs };
  return { kind: "Waiting", condition: ISSUANCE_ALLOWED, state, reason, message, ...delay };
}

function accountIsNotReady({ account }: ApiKeySnapshot): Waiting | undefined {
  return account.kind === "Ready" ? undefined : { ...account, condition: ISSUANCE_ALLOWED };
}

/** Also asked before a new pair is delivered: the Secret may have changed hands since (S9). */
export function secretConflict({ self, spec, target }: ApiKeySnapshot): Waiting | undefined {
  if (target.kind !== "Foreign" || (spec.secret.onExisting === "Adopt" && target.adoptable))
    return undefined;
  const advice = target.adoptable
    ? "Delete it, choose another secret.name, or set secret.onExisting: Adopt."
    : "Delete it or create an ApiKey with another secret.name.";
  return blocked("Stalled", {
    reason: "SecretConflict",
    message: `Secret ${secretNameOf(self.name, spec)} exists and is not this ApiKey's: ${target.why}. ${advice}`,
  });
}

function stagingConflict({ self, spec, staging }: ApiKeySnapshot): Waiting | undefined {
  if (staging.kind !== "Foreign") return undefined;
  return blocked("Stalled", {
    reason: "SecretConflict",
    message: `Secret ${stagingName(secretNameOf(self.name, spec))} is needed to keep a new key and exists already: ${staging.why}. Delete it.`,
  });
}

function lifetimeIsNotGranted({ spec, account }: ApiKeySnapshot): Waiting | undefined {
  if (account.kind !== "Ready" || spec.expiresInDays <= account.maxExpiresInDays) return undefined;
  return blocked("Stalled", {
    reason: "LifetimeNotGranted",
    message: `expiresInDays is ${spec.expiresInDays}, but this namespace's grant allows at most ${account.maxExpiresInDays}.`,
  });
}

/** The administrator's limit, which no request of a person goes past. */
function namespaceBudgetIsUsedUp({ account }: ApiKeySnapshot): Waiting | undefined {
  if (account.kind !== "Ready" || account.namespaceIssues === undefined) return undefined;
  const { most, count } = account.namespaceIssues;
  if (count < most) return undefined;
  const message = `The ApiKeys of this namespace were issued ${count} keys in the last 24 hours; its grant allows ${most}, requests by annotation included. Wait, or ask the connection's administrator for a higher maxIssuesPerDay.`;
  return blocked("Reconciling", { reason: "NamespaceBudgetExceeded", message }, HOUR);
}

/** How many keys may still be issued today. */
function budgetLeft({ spec, status: { issuances } }: ApiKeySnapshot, now: Instant): number {
  const used =
    issuances === undefined || now >= issuances.windowStartTime + DAY ? 0 : issuances.count;
  return spec.maxIssuesPerDay - used;
}

function budgetIsUsedUp(
  snapshot: ApiKeySnapshot,
  { now }: ClockReading,
  because: KeyNeed,
): Waiting | undefined {
  if (budgetLeft(snapshot, now) > 0 || rotationIsRequested(snapshot) !== undefined)
    return undefined;
  const until = (snapshot.status.issuances?.windowStartTime ?? now) + DAY;
  const message = `${because.message} But ${snapshot.spec.maxIssuesPerDay} keys were issued since ${toIso8601(until - DAY)}, which is all that maxIssuesPerDay allows; the next one may follow at ${toIso8601(until)}, or when you set the annotation iam-operator.io/rotate-requested-at.`;
  return blocked("Reconciling", { reason: "BudgetExceeded", message }, until - now);
}

function tooManyLiveKeys(
  snapshot: ApiKeySnapshot,
  { now }: ClockReading,
  because: KeyNeed,
): Waiting | undefined {
  const { spec, self, status } = snapshot;
  const { current } = status;
  const live = liveKeys(status, now);
  const beyond = live.length - liveKeyCap(spec, self.uid);
  if (beyond < 0 || rotationIsRequested(snapshot) !== undefined) return undefined;
  // Without a usable key, or shortly before its end, a consumer matters more than the cap: the next one may
  // follow sooner, but each only after twice the time.
  const isUrgent = current === undefined || now >= safetyLimit(current);
  const last = Math.max(...live.map(({ issueTime }) => issueTime));
  const urgently = isUrgent ? last + pauseBeyondCap(spec, beyond) : Number.POSITIVE_INFINITY;
  const until = Math.min(urgently, ...live.map(({ expirationTime }) => expirationTime));
  if (now >= until) return undefined;
  const message = `${because.message} But ${live.length} keys of this ApiKey are still alive at the console; the next one may follow when one of them ends, at ${toIso8601(until)} at the latest, or when you set the annotation iam-operator.io/rotate-requested-at.`;
  return blocked("Reconciling", { reason: "TooManyLiveKeys", message }, until - now);
}

/** Keys that the console still accepts, as far as it is known; those whose secret is lost count like any other. */
function liveKeys({ current, superseded, orphaned }: KeyStatus, now: Instant): readonly Lifetime[] {
  return [
    ...(current === undefined ? [] : [current]),
    ...superseded.filter(({ state }) => state === "Live"),
    ...orphaned.map(({ observedTime, expirationTime }) => ({
      issueTime: observedTime,
      expirationTime,
    })),
  ].filter(({ expirationTime }) => expirationTime > now);
}

function peerIsUnsettled({ unsettledPeer }: ApiKeySnapshot): Waiting | undefined {
  if (unsettledPeer === undefined) return undefined;
  const why = {
    reason: WAITING_FOR_PEER,
    message:
      "It is not known yet whether another ApiKey of the same service account has been issued a key; none is issued for the account until it is.",
  };
  return blocked("Reconciling", why, PEER_CHECK_MS);
}
