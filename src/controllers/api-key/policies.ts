/** Small named rules: when a new key must be issued, and when none may be. Pure. */
import { DAY, type Instant, toIso8601 } from "../../util/time.ts";
import type { Moment, Timing } from "./moment.ts";
import type { Observed, State } from "./observed.ts";
import type { IssuedPair } from "./pair.ts";
import { type Lifetime, liveKeyCap, pauseBeyondCap, renewalTime, safetyLimit } from "./schedule.ts";
import { secretNameOf, stagingName } from "./secret.ts";

/** The reason of a block that ends when an ApiKey of the same account is done; whoever waits is woken then. */
export const WAITING_FOR_PEER = "WaitingForPeer";

/** Why a key is needed. */
export interface Verdict {
  readonly reason: string;
  readonly message: string;
}

/** Why no key may be issued now, and whether time or a person will change that. */
export interface Block extends Verdict {
  readonly state: "Stalled" | "Reconciling";
  /** When to look again, where time helps. */
  readonly until?: Instant;
}

export type IssuePolicy = (seen: Observed, at: Moment, timing: Timing) => Verdict | undefined;
export type BlockPolicy = (seen: Observed, at: Moment, because: Verdict) => Block | undefined;

/** In order: the first finding is the reason that users see. */
export const mustIssue: readonly IssuePolicy[] = [
  rotationIsRequested,
  noKeyYet,
  secretIsMissing,
  secretIsReplaced,
  secretIsBroken,
  keyIsRefused,
  keyHasExpired,
  rotationIsDue,
  rotationIsPending,
];

export const mustNotIssue: readonly BlockPolicy[] = [
  accountIsNotReady,
  secretIsNotOurs,
  stagingIsNotOurs,
  lifetimeIsNotGranted,
  budgetIsUsedUp,
  tooManyLiveKeys,
  peerIsUnsettled,
];

/** What the first policy with a finding found. */
export function firstFinding<Finding, Args extends readonly unknown[]>(
  policies: readonly ((...args: Args) => Finding | undefined)[],
  ...args: Args
): Finding | undefined {
  for (const policy of policies) {
    const finding = policy(...args);
    if (finding !== undefined) return finding;
  }
  return undefined;
}

/** Whether a person asks for a new key and has not got one for this token yet. */
export function rotationIsRequested({ self, state }: Observed): Verdict | undefined {
  if (self.rotateToken === undefined || self.rotateToken === state.handledRotateToken)
    return undefined;
  return { reason: "RotationRequested", message: "A rotation was requested by annotation." };
}

function noKeyYet({ state, target }: Observed): Verdict | undefined {
  if (state.current !== undefined || (target.kind === "Ours" && target.pair !== undefined))
    return undefined;
  return { reason: "NoKeyYet", message: "No key has been issued yet." };
}

function secretIsMissing({ self, spec, target }: Observed): Verdict | undefined {
  if (target.kind !== "Absent") return undefined;
  return {
    reason: "SecretMissing",
    message: `Secret ${secretNameOf(self.name, spec)} is gone, and with it the only copy of the key's secret.`,
  };
}

function secretIsReplaced({ self, spec, target }: Observed): Verdict | undefined {
  if (target.kind !== "Foreign") return undefined;
  return {
    reason: "SecretReplaced",
    message: `Secret ${secretNameOf(self.name, spec)} was replaced by one that is not ours.`,
  };
}

function secretIsBroken({ self, spec, state, target }: Observed): Verdict | undefined {
  if (target.kind !== "Ours") return undefined;
  const { pair } = target;
  if (pair !== undefined && !isOutdated(pair, state)) return undefined;
  return {
    reason: "SecretEdited",
    message: `Secret ${secretNameOf(self.name, spec)} was edited and no longer holds the key pair.`,
  };
}

/** Whether the pair is an earlier one than the status names: somebody has put an old Secret back. */
export function isOutdated(pair: IssuedPair, { current, superseded }: State): boolean {
  if (superseded.some(({ keyId }) => keyId === pair.keyId)) return true;
  return current !== undefined && current.keyId !== pair.keyId && pair.revision < current.revision;
}

function keyIsRefused(
  { state, rejection }: Observed,
  at: Moment,
  timing: Timing,
): Verdict | undefined {
  const { current } = state;
  if (current === undefined || rejection?.keyId !== current.keyId) return undefined;
  if (at.monotonic - rejection.since < timing.verifyPatienceMs) return undefined;
  return {
    reason: "KeyRefused",
    message: `The console no longer accepts key ${current.keyId}.`,
  };
}

function keyHasExpired({ state }: Observed, { now }: Moment): Verdict | undefined {
  if (state.current === undefined || now < state.current.expirationTime) return undefined;
  return {
    reason: "KeyExpired",
    message: `Key ${state.current.keyId} expired at ${toIso8601(state.current.expirationTime)}.`,
  };
}

function rotationIsDue({ self, spec, state }: Observed, { now }: Moment): Verdict | undefined {
  const { current } = state;
  if (current === undefined) return undefined;
  const due = renewalTime(current, spec.rotation, self.uid, now);
  if (now < due) return undefined;
  return { reason: "RotationDue", message: `Rotation was due at ${toIso8601(due)}.` };
}

function rotationIsPending({ state }: Observed): Verdict | undefined {
  if (!state.rotationPending) return undefined;
  return { reason: "RotationInterrupted", message: "A requested rotation was interrupted." };
}

/** Whether an attempt for this reason, if it fails, leaves a request of a person open. */
export function isRequested(reason: string | undefined): boolean {
  return reason === "RotationRequested" || reason === "RotationInterrupted";
}

function accountIsNotReady({ account }: Observed): Block | undefined {
  if (account.kind === "Ready") return undefined;
  return { reason: account.reason, message: account.message, state: "Reconciling" };
}

/** Also asked before a new pair is delivered: the Secret may have changed hands since (S9). */
export function secretIsNotOurs({ self, spec, target }: Observed): Block | undefined {
  if (target.kind !== "Foreign" || (spec.secret.onExisting === "Adopt" && target.adoptable))
    return undefined;
  const advice = target.adoptable
    ? "Delete it, choose another secret.name, or set secret.onExisting: Adopt."
    : "Delete it or create an ApiKey with another secret.name.";
  return {
    reason: "SecretNotOurs",
    message: `Secret ${secretNameOf(self.name, spec)} exists and is not this ApiKey's: ${target.why}. ${advice}`,
    state: "Stalled",
  };
}

function stagingIsNotOurs({ self, spec, staging }: Observed): Block | undefined {
  if (staging.kind !== "Foreign") return undefined;
  return {
    reason: "SecretNotOurs",
    message: `Secret ${stagingName(secretNameOf(self.name, spec))} is needed to keep a new key and exists already: ${staging.why}. Delete it.`,
    state: "Stalled",
  };
}

function lifetimeIsNotGranted({ spec, account }: Observed): Block | undefined {
  if (account.kind !== "Ready" || spec.expiresInDays <= account.maxExpiresInDays) return undefined;
  return {
    reason: "LifetimeNotGranted",
    message: `expiresInDays is ${spec.expiresInDays}, but this namespace's grant allows at most ${account.maxExpiresInDays}.`,
    state: "Stalled",
  };
}

/** How many keys may still be issued today. */
export function budgetLeft({ spec, state }: Observed, now: Instant): number {
  const { issuances } = state;
  const used =
    issuances === undefined || now >= issuances.windowStartTime + DAY ? 0 : issuances.count;
  return spec.maxIssuesPerDay - used;
}

function budgetIsUsedUp(seen: Observed, { now }: Moment, because: Verdict): Block | undefined {
  if (budgetLeft(seen, now) > 0 || rotationIsRequested(seen) !== undefined) return undefined;
  const until = (seen.state.issuances?.windowStartTime ?? now) + DAY;
  return {
    reason: "BudgetExceeded",
    message: `${because.message} But ${seen.spec.maxIssuesPerDay} keys were issued since ${toIso8601(until - DAY)}, which is all that maxIssuesPerDay allows; the next one may follow at ${toIso8601(until)}, or when you set the annotation iam-operator.io/rotate-requested-at.`,
    state: "Reconciling",
    until,
  };
}

function tooManyLiveKeys(seen: Observed, { now }: Moment, because: Verdict): Block | undefined {
  const { spec, self } = seen;
  const { current } = seen.state;
  const live = liveKeys(seen.state, now);
  const beyond = live.length - liveKeyCap(spec, self.uid);
  if (beyond < 0 || rotationIsRequested(seen) !== undefined) return undefined;
  // Without a usable key, or shortly before its end, a consumer matters more than the cap: the next one may
  // follow sooner, but each only after twice the time.
  const isUrgent = current === undefined || now >= safetyLimit(current);
  const last = Math.max(...live.map(({ issueTime }) => issueTime));
  const urgently = isUrgent ? last + pauseBeyondCap(spec, beyond) : Number.POSITIVE_INFINITY;
  const until = Math.min(urgently, ...live.map(({ expirationTime }) => expirationTime));
  if (now >= until) return undefined;
  return {
    reason: "TooManyLiveKeys",
    message: `${because.message} But ${live.length} keys of this ApiKey are still alive at the console; the next one may follow when one of them ends, at ${toIso8601(until)} at the latest, or when you set the annotation iam-operator.io/rotate-requested-at.`,
    state: "Reconciling",
    until,
  };
}

/** Keys that the console still accepts, as far as it is known; those whose secret is lost count like any other. */
function liveKeys({ current, superseded, orphaned }: State, now: Instant): readonly Lifetime[] {
  return [
    ...(current === undefined ? [] : [current]),
    ...superseded.filter(({ state }) => state === "Live"),
    ...orphaned.map(({ observedTime, expirationTime }) => ({
      issueTime: observedTime,
      expirationTime,
    })),
  ].filter(({ expirationTime }) => expirationTime > now);
}

function peerIsUnsettled({ unsettledPeer }: Observed): Block | undefined {
  if (unsettledPeer === undefined) return undefined;
  return {
    reason: WAITING_FOR_PEER,
    message:
      "Another ApiKey of the same service account is issuing; keys of one account are issued one after the other.",
    state: "Reconciling",
  };
}
