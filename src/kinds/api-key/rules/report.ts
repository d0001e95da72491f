/** The report of an ApiKey's run: status, conditions, events, and when to reconcile again. Pure. */

import type { ApiKey, ApiKeyStatus } from "../../../api/api-key.ts";
import { findCondition } from "../../../api/conditions.ts";
import { toEvent } from "../../../api/events.ts";
import { annotations } from "../../../api/meta.ts";
import { isKubeError } from "../../../kube/errors.ts";
import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import { blockedSince, blocksCleanup, cleanupDeadline } from "../../../reconciler/rules/cleanup.ts";
import { firstFinding, type Outcome } from "../../../reconciler/rules/outcome.ts";
import type { KindCondition, ObjectReport, Report } from "../../../reconciler/rules/report.ts";
import { requestToken } from "../../../reconciler/rules/request.ts";
import { apiKeyType } from "../../../resources/resource-types.ts";
import { type AgreedTime, certainTime, msUntil } from "../../../util/agreed-time.ts";
import { DAY, type Instant, SECOND, toIso8601 } from "../../../util/time.ts";
import { secretNameOf } from "../secret/owner.ts";
import type { KeyAccount } from "../secret/pair.ts";
import { pairIn } from "../secret/view.ts";
import type { Timing } from "../timing.ts";
import { accountInUse, accountOf, isOfGoneAccount } from "./accounts.ts";
import { consumerConditions, countOf } from "./consumers.ts";
import { contentOf } from "./content.ts";
import { issuanceAllowed } from "./forecast.ts";
import { endedState, keyInList, type ListedKeys, listedKeys } from "./listed-keys.ts";
import { lostPairs } from "./needs.ts";
import { EXPIRING_SOON, readinessOf } from "./readiness.ts";
import { canRehearse, nextRehearsalMs, unrehearsed } from "./rehearsal.ts";
import { overlapEnd, renewalTime, safetyLimit, unlistedOverlap } from "./schedule.ts";
import {
  type ApiKeyMemory,
  type ApiKeySnapshot,
  type KeyNeed,
  nothingRemembered,
  type ReadyAccount,
} from "./snapshot.ts";
import {
  type CurrentKey,
  type KeyStatus,
  keyStatusCodec,
  listedKeyIds,
  type SupersededKey,
} from "./status.ts";
import { isCheckedRegularly, nextCheckMs, replacedInMs, shownEnd } from "./verification.ts";

const DELETION_RETRY_MS = 30 * SECOND;
/**
 * Expired keys stay in the lists for this long after their expiry: until then, the account's next list is compared with
 * them.
 */
const LISTED_MS = DAY;

export function report(
  snapshot: ApiKeySnapshot,
  outcome: Outcome,
  at: ClockReading,
  timing: Timing,
  before: ApiKeyMemory = nothingRemembered,
): Report<ApiKeyMemory> {
  const { object } = snapshot;
  const entry = objectReport(snapshot, outcome, at, timing);
  const isConverged = entry.status.consumers?.stale === 0;
  const { reason, message } = entry.readiness;
  const wasExpiring = findCondition(object.status?.conditions, "Ready")?.reason === EXPIRING_SOON;
  const event = toEvent(EXPIRING_SOON, "Reconcile", message);
  return {
    objects: [entry],
    events: reason === EXPIRING_SOON && !wasExpiring ? [{ object, event }] : [],
    requeueAfterMs:
      outcome.kind === "Failed"
        ? retryMs(snapshot, outcome.error, timing)
        : Math.min(
            waitMs(outcome),
            nextDueMs(snapshot, isConverged, at),
            checkMs(snapshot, at, timing),
            pairCheckMs(snapshot, at, timing),
            rehearsalMs(snapshot, outcome, at),
            patienceMs(snapshot, at, timing),
          ),
    ...newMemory(snapshot, at, before),
  };
}

/** A process that has just started does not know when the key was last checked, or the next key rehearsed. */
function newMemory(
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  before: ApiKeyMemory,
): { readonly state?: ApiKeyMemory } {
  const checks =
    snapshot.regularCheckFrom === undefined && isCheckedRegularly(snapshot)
      ? { regularCheckFrom: at.monotonic }
      : {};
  const rehearses =
    snapshot.rehearsal === undefined && canRehearse(snapshot)
      ? { rehearsal: unrehearsed(snapshot, at) }
      : {};
  const found = { ...checks, ...rehearses };
  return Object.keys(found).length === 0 ? {} : { state: { ...before, ...found } };
}

function objectReport(
  snapshot: ApiKeySnapshot,
  outcome: Outcome,
  at: ClockReading,
  timing: Timing,
): ObjectReport<ApiKey> & { readonly status: ApiKeyStatus } {
  const { object } = snapshot;
  const status = statusAfter(snapshot, at);
  const readiness = readinessOf(snapshot, outcome, at);
  return {
    type: apiKeyType,
    object,
    status,
    readiness,
    // A suspended object reports an expiring key too.
    suspended: outcome.kind === "Suspended" && readiness.reason !== EXPIRING_SOON,
    conditions: conditionsOf(snapshot, outcome, status.content, at, timing),
    isCleanupBlocked: isCleanupBlocked(snapshot, outcome),
    handledRequest: requestToken(object.metadata, annotations.reconcileRequestedAt),
    write: { resourceVersion: object.metadata.resourceVersion },
  };
}

function statusAfter(snapshot: ApiKeySnapshot, at: ClockReading): ApiKeyStatus {
  const { self, spec } = snapshot;
  const now = certainTime(at);
  const keys = withoutExpired(snapshot, now);
  const content = contentOf(snapshot, at);
  const renewal = renewalOf(snapshot, at.now);
  return {
    ...keyStatusCodec.encode(keys),
    secretName: secretNameOf(self.name, spec),
    pending: pendingOf(snapshot),
    content,
    consumers: countOf(snapshot, content),
    orphanCount: keys.orphaned.filter((key) => key.late === true || now < key.expirationTime)
      .length,
    renewalTime: renewal === undefined ? undefined : toIso8601(renewal),
  };
}

/** A pair that exists but is not listed in the status. */
function pendingOf({ object, held, pending, status }: ApiKeySnapshot): ApiKeyStatus["pending"] {
  if (held === undefined && pending.kind === "Unread") return object.status?.pending;
  const pair = held?.pair ?? pairIn(pending);
  if (pair === undefined || listedKeyIds(status).includes(pair.keyId)) return undefined;
  const { keyId, serviceAccount, saId } = pair;
  return { keyId, expirationTime: toIso8601(pair.expirationTime), serviceAccount, saId };
}

/** The expiry of a late key is an estimate: the key stays listed while the console lists it. */
function withoutExpired(snapshot: ApiKeySnapshot, now: Instant): KeyStatus {
  const { status } = snapshot;
  const listOf = listsOf(snapshot);
  const shown = (key: SupersededKey): SupersededKey => {
    if (isOfGoneAccount(key, snapshot)) return { ...key, state: endedState(key) };
    const listed = listOf(key);
    return listed === undefined ? key : keyInList(key, listed, keyInUseOf(key, snapshot));
  };
  return {
    ...status,
    superseded: status.superseded
      .filter((key) => now < key.expirationTime + LISTED_MS)
      .map(shown)
      .map((key) =>
        now >= key.expirationTime && key.state !== "Deleted" ? { ...key, state: "Expired" } : key,
      ),
    orphaned: status.orphaned.filter((key) =>
      key.late === true
        ? now < key.expirationTime || listOf(key)?.isLive(key.keyId ?? "") !== false
        : now < key.expirationTime + LISTED_MS,
    ),
  };
}

/** The key in use, if it has the same account as the key. */
function keyInUseOf(key: KeyAccount, snapshot: ApiKeySnapshot): CurrentKey | undefined {
  const isSame = accountOf(key, snapshot) === accountInUse(snapshot);
  return isSame ? snapshot.status.current : undefined;
}

/** The list of the key's account; `undefined` if the account is not ready. Each list is prepared once. */
function listsOf(snapshot: ApiKeySnapshot): (key: KeyAccount) => ListedKeys | undefined {
  const lists = new Map<ReadyAccount, ListedKeys>();
  return (key) => {
    const account = accountOf(key, snapshot);
    if (account.kind !== "Ready") return undefined;
    const listed = lists.get(account) ?? listedKeys(account);
    lists.set(account, listed);
    return listed;
  };
}

function renewalOf({ self, spec, status }: ApiKeySnapshot, now: Instant): Instant | undefined {
  const { current } = status;
  return current && renewalTime(current, spec.rotation, self.uid, now);
}

function conditionsOf(
  snapshot: ApiKeySnapshot,
  outcome: Outcome,
  content: ApiKeyStatus["content"],
  at: ClockReading,
  timing: Timing,
): readonly KindCondition[] {
  return [
    ...consumerConditions(snapshot, content),
    verified(snapshot, outcome),
    issuanceAllowed(snapshot, outcome, at, timing),
  ].filter((condition) => condition !== undefined);
}

function verified(snapshot: ApiKeySnapshot, outcome: Outcome): KindCondition | undefined {
  const { rejection } = snapshot;
  const { current } = snapshot.status;
  const type = "Verified";
  const no = (reason: string, message: string) =>
    ({ type, status: "False", isWarning: true, reason, message }) as const;
  if (outcome.kind === "Waiting" && outcome.reason === "VerificationFailed")
    return no(outcome.reason, outcome.message);
  if (current === undefined) return undefined;
  const { keyId, verificationTime } = current;
  const account = accountInUse(snapshot);
  if (account.kind === "Waiting" && account.endsKeys === true)
    return { type, status: "False", reason: account.reason, message: account.message };
  if (rejection?.keyId === keyId)
    return no("KeyRefused", `The console does not accept key ${keyId}.`);
  if (verificationTime === undefined) return undefined;
  const message = `The console accepted key ${keyId}.`;
  const unchecked = whyUnchecked(snapshot, account);
  return unchecked === undefined
    ? { type, status: "True", reason: "KeyAccepted", message }
    : {
        ...{ type, status: "Unknown", reason: unchecked.reason },
        message: `${message} The key is not checked now. ${unchecked.message}`,
      };
}

/** Without its pair or its account, the key cannot be checked. */
function whyUnchecked(
  snapshot: ApiKeySnapshot,
  account: ReturnType<typeof accountInUse>,
): Pick<KeyNeed, "reason" | "message"> | undefined {
  const lost =
    snapshot.self.deletingSince === undefined ? firstFinding(lostPairs, snapshot) : undefined;
  if (lost !== undefined) return lost;
  const isNotReady = account.kind === "Waiting" && account.reason === "ServiceAccountNotReady";
  return isNotReady ? account : undefined;
}

function waitMs(outcome: Outcome): number {
  return ("afterMs" in outcome ? outcome.afterMs : undefined) ?? Number.POSITIVE_INFINITY;
}

/** Reads a Secret at intervals if the watch does not cover it: the watch covers only the operator's Secrets. */
function checkMs(
  { secretsAreWatched, target, pending }: ApiKeySnapshot,
  { fraction }: ClockReading,
  { secretCheckMs }: Timing,
): number {
  const isWatched = secretsAreWatched && target.kind !== "Foreign" && pending.kind !== "Foreign";
  if (isWatched) return Number.POSITIVE_INFINITY;
  return secretCheckMs * (0.8 + 0.2 * fraction);
}

/** Milliseconds until a deletion no longer waits for the console. */
function patienceMs(
  { self, object }: ApiKeySnapshot,
  { now }: ClockReading,
  { deletionPatienceMs }: Timing,
): number {
  const deadline = cleanupDeadline(blockedSince(object), now, deletionPatienceMs);
  return self.deletingSince === undefined || now >= deadline
    ? Number.POSITIVE_INFINITY
    : deadline - now;
}

/** A suspended deletion waits for a person, and status writes on the way change nothing about the deadline. */
function isCleanupBlocked({ self, spec }: ApiKeySnapshot, outcome: Outcome): boolean | undefined {
  if (self.deletingSince === undefined) return undefined;
  if (spec.suspend) return false;
  const isBlocked =
    outcome.kind === "Waiting" || (outcome.kind === "Failed" && blocksCleanup(outcome.error));
  return isBlocked ? true : undefined;
}

/**
 * Milliseconds until the pair in use is checked or replaced. Never while the object is being deleted. Only a suspended
 * object gets here with a failed check: otherwise the run has failed.
 */
function pairCheckMs(snapshot: ApiKeySnapshot, at: ClockReading, timing: Timing): number {
  if (snapshot.self.deletingSince !== undefined) return Number.POSITIVE_INFINITY;
  if (snapshot.failedCheck !== undefined) return timing.verifySlowRetryMs;
  const checkMs = nextCheckMs(snapshot, at, timing) ?? Number.POSITIVE_INFINITY;
  const replacedMs = replacedInMs(snapshot, at, timing) ?? 0;
  return replacedMs > 0 ? Math.min(checkMs, replacedMs) : checkMs;
}

/** Milliseconds until the next rehearsal. Never while the object is suspended. */
function rehearsalMs(snapshot: ApiKeySnapshot, { kind }: Outcome, at: ClockReading): number {
  const ms = kind === "Suspended" ? undefined : nextRehearsalMs(snapshot, at);
  return ms ?? Number.POSITIVE_INFINITY;
}

/** Milliseconds until the next time-based change, at most 24 hours. */
export function nextDueMs(
  { self, spec, status }: ApiKeySnapshot,
  isConverged: boolean,
  at: AgreedTime,
): number {
  const { current } = status;
  const renewal = current && renewalTime(current, spec.rotation, self.uid, at.now);
  const byNow = current === undefined ? [] : [renewal, safetyLimit(current)];
  const byAll = [
    renewal,
    current?.expirationTime,
    current && overlapEnd(unlistedOverlap(current), spec.rotation, isConverged),
    ...status.superseded.flatMap((key) => [
      overlapEnd(key, spec.rotation, isConverged),
      key.expirationTime,
      key.expirationTime + LISTED_MS,
    ]),
    ...status.orphaned.flatMap(({ expirationTime }) => [
      expirationTime,
      expirationTime + LISTED_MS,
    ]),
  ];
  return Math.min(...delays(byNow, { now: at.now }), ...delays(byAll, at), DAY);
}

/** Milliseconds until the instants that are still to come. */
function delays(instants: readonly (Instant | undefined)[], at: AgreedTime): readonly number[] {
  return instants
    .filter((instant) => instant !== undefined)
    .map((instant) => msUntil(instant, at))
    .filter((ms) => ms > 0);
}

/**
 * When to retry an error that, according to the error itself, only a change of the object can resolve. A console that
 * does not revoke an old key must not block maintenance of the key in use, nor delay a deletion for longer than a
 * console that does not respond. A Secret that is invalid, for example immutable, may become valid without any
 * notification. And consumers whose key is rejected need another one.
 */
function retryMs(
  snapshot: ApiKeySnapshot,
  error: unknown,
  { secretCheckMs }: Timing,
): number | undefined {
  const { self, failedRevocations } = snapshot;
  if (self.deletingSince !== undefined) return DELETION_RETRY_MS;
  const mayPass = failedRevocations !== undefined || isKubeError(error, "Invalid");
  return mayPass || shownEnd(snapshot) !== undefined ? secretCheckMs : undefined;
}
