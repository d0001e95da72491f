/** Why no key may be issued now, and whether waiting or manual action resolves it. Pure. */

import { MAX_LISTED_KEYS } from "../../../api/api-key.ts";
import { ISSUANCE_ALLOWED, remakeMutable, SECRET_IMMUTABLE } from "../../../api/issuance.ts";
import { apiKeyLabel, labels } from "../../../api/meta.ts";
import { pendingSecretName } from "../../../api/secret-names.ts";
import { clientIdentity } from "../../../connections/client-settings.ts";
import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import type { Waiting } from "../../../reconciler/rules/outcome.ts";
import {
  describeStop,
  isStopped,
  UNREADABLE_RESPONSE,
} from "../../../reconciler/rules/unreadable-response.ts";
import { certainTime } from "../../../util/agreed-time.ts";
import { DAY, HOUR, type Instant, MINUTE, SECOND, toIso8601 } from "../../../util/time.ts";
import { secretNameOf } from "../secret/owner.ts";
import { isMoving, isOfSpec } from "./accounts.ts";
import { rotationIsRequested } from "./needs.ts";
import { reservedMetadataBlocks } from "./reserved-metadata.ts";
import { safetyLimit } from "./schedule.ts";
import type { ApiKeySnapshot, AttemptsWithoutKey, KeyNeed, UnkeptSecret } from "./snapshot.ts";
import type { KeyStatus, OrphanedKey } from "./status.ts";
import { isUsable } from "./usable.ts";

/** Safety net only: PolicyBindings and ServiceAccounts enqueue the ApiKeys that wait for them. */
const PERMISSIONS_CHECK_MS = 5 * MINUTE;
/** Safety net while another ApiKey owns the Secret. */
const CLAIM_CHECK_MS = 5 * MINUTE;

/** Room for the keys that one recovery may find. */
const LIST_RESERVE = 100;

type BlockRule = (
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  because: KeyNeed,
) => Waiting | undefined;

/** Limits that end at a known time. */
export const limits: readonly BlockRule[] = [namespaceBudgetIsUsedUp, budgetIsUsedUp, keysAreLost];

/** Found in the Secrets, whatever the account and the console are like. */
export const secretBlocks: readonly BlockRule[] = [
  secretIsClaimed,
  secretConflict,
  pendingConflict,
  secretIsImmutable,
];

/** Time does not end these. */
export const lastingBlocks: readonly BlockRule[] = [
  accountIsNotReady,
  permissionsAreMissing,
  ...secretBlocks,
  reservedMetadataBlocks,
  lifetimeIsNotGranted,
  responseIsUnreadable,
  statusIsFull,
];

/** In order: users see the reason of the first finding. */
export const blocks: readonly BlockRule[] = [...lastingBlocks, ...limits, attemptsFailInARow];

function blocked(state: Waiting["state"], { reason, message }: KeyNeed, afterMs?: number): Waiting {
  const delay = afterMs === undefined ? {} : { afterMs };
  return { kind: "Waiting", condition: ISSUANCE_ALLOWED, state, reason, message, ...delay };
}

function accountIsNotReady({ account }: ApiKeySnapshot): Waiting | undefined {
  return account.kind === "Ready" ? undefined : { ...account, condition: ISSUANCE_ALLOWED };
}

/**
 * A change of account takes no permission from a workload whose key works. Checked again before the new pair is
 * delivered.
 */
export function permissionsAreMissing(
  snapshot: ApiKeySnapshot,
  at: ClockReading,
): Waiting | undefined {
  const { missingPermissions, spec, status } = snapshot;
  if (missingPermissions === undefined || status.current === undefined) return undefined;
  if (!isMoving(snapshot) || !isUsable(snapshot, certainTime(at))) return undefined;
  const message = `Consumers get no key of ServiceAccount ${spec.serviceAccountRef.name} yet: ${missingPermissions}. They keep key ${status.current.keyId} of ServiceAccount ${status.current.serviceAccount}.`;
  return blocked("Reconciling", { reason: "PermissionsMissing", message }, PERMISSIONS_CHECK_MS);
}

/** If two ApiKeys use a Secret of the same name, the second ApiKey is issued no key that it could not deliver. */
function secretIsClaimed(snapshot: ApiKeySnapshot): Waiting | undefined {
  const { self, spec, otherClaim, target } = snapshot;
  if (otherClaim === undefined) return undefined;
  const { apiKey, secretName } = otherClaim;
  const isTarget = secretName === secretNameOf(self.name, spec);
  if (isTarget && (target.kind === "Ours" || target.kind === "Unread")) return undefined;
  return blocked(
    "Stalled",
    {
      reason: "SecretConflict",
      message: `Secret ${secretName} belongs to ApiKey ${apiKey}: an ApiKey uses the Secret that it names, and for a new key a Secret with -next after that name. ${underAnotherName(snapshot)}.`,
    },
    CLAIM_CHECK_MS,
  );
}

/** Also checked before a new pair is delivered: the Secret may have another owner by then (S9). */
export function secretConflict(snapshot: ApiKeySnapshot): Waiting | undefined {
  const { self, spec, target } = snapshot;
  if (target.kind !== "Foreign") return undefined;
  const isWanted = spec.secret.onExisting === "Adopt";
  if (isWanted && target.adoptable && target.hasConsent) return undefined;
  const name = secretNameOf(self.name, spec);
  return blocked("Stalled", {
    reason: "SecretConflict",
    message: `Secret ${name} exists and is not this ApiKey's: ${target.why}. ${conflictAdvice(target, snapshot, isWanted)}`,
  });
}

/** Safe and possible actions only: another ApiKey's key must not be deleted, and spec.secret.name is immutable. */
function conflictAdvice(
  { holder, adoptable, hasConsent }: Extract<ApiKeySnapshot["target"], { kind: "Foreign" }>,
  snapshot: ApiKeySnapshot,
  isWanted: boolean,
): string {
  const { namespace, name: apiKey } = snapshot.self;
  const name = secretNameOf(apiKey, snapshot.spec);
  const again = underAnotherName(snapshot);
  if (holder !== undefined)
    return `It can hold the only copy of a key of ApiKey ${holder}. ${again}. Only if ApiKey ${holder} is Ready with a Secret of another name, Secret ${name} is a copy: then you can delete that Secret instead, and the operator writes it as soon as it can issue a key.`;
  if (!adoptable) return `${again}; or, if nothing uses Secret ${name}, delete that.`;
  const consent = `kubectl label secret -n ${namespace} ${name} ${labels.apiKey}=${apiKeyLabel(apiKey)}`;
  const wish = "set spec.secret.onExisting: Adopt";
  const steps = [...(hasConsent ? [] : [consent]), ...(isWanted ? [] : [wish])];
  return `${again}; or let the operator overwrite the Secret: ${steps.join(", and ")}.`;
}

/** A key that consumers use stays until they have another: the deletion of its ApiKey would end it. */
function underAnotherName({ status }: ApiKeySnapshot): string {
  return status.current === undefined
    ? "Create this ApiKey again with another spec.secret.name"
    : MOVE_WORKLOADS;
}

const MOVE_WORKLOADS =
  "Create another ApiKey with another spec.secret.name, let the workloads use its Secret, then delete this ApiKey";

export function pendingConflict(snapshot: ApiKeySnapshot): Waiting | undefined {
  const { self, spec, pending } = snapshot;
  if (pending.kind !== "Foreign") return undefined;
  const again = underAnotherName(snapshot);
  const name = pendingSecretName(secretNameOf(self.name, spec));
  return blocked("Stalled", {
    reason: "SecretConflict",
    message: `Secret ${name} is needed to keep a new key and exists already: ${pending.why}. ${pending.holder === undefined ? `${again}; or, if nothing uses Secret ${name}, delete that` : `It may hold the key of ApiKey ${pending.holder}: do not delete it. ${again}`}.`,
  });
}

/**
 * The API server refuses to write another pair, so a new key could not be delivered. Also checked before a new pair is
 * delivered. A Secret of another owner gets here only if it is to be adopted.
 */
export function secretIsImmutable({ self, spec, target }: ApiKeySnapshot): Waiting | undefined {
  if (!("secret" in target) || target.secret.immutable !== true) return undefined;
  const name = secretNameOf(self.name, spec);
  return blocked("Stalled", {
    reason: SECRET_IMMUTABLE,
    message: `Secret ${name} is immutable, so no other pair can be written to it. To create it again as it is, but without immutable, run: ${remakeMutable(self.namespace, name)}; then run kubectl iam reconcile iamkey/${self.name} -n ${self.namespace}.`,
  });
}

/** The Secrets could not take a new pair, as dry runs show. */
export function pairIsUndeliverable(stop: KeyNeed): Waiting {
  return blocked("Stalled", stop, CLAIM_CHECK_MS);
}

export function describeUnkept({ name, what }: UnkeptSecret): string {
  return `In a dry run, the API server stores Secret ${name} with a different ${what} than the operator writes, so a new key could not be delivered, and none is issued: probably an admission policy or webhook of the cluster changes it. Exempt the operator's Secrets from the policy, and run kubectl iam reconcile; without a request, the operator tries again within an hour.`;
}

function lifetimeIsNotGranted({ spec, account }: ApiKeySnapshot): Waiting | undefined {
  if (account.kind !== "Ready" || spec.expiresInDays <= account.maxExpiresInDays) return undefined;
  return blocked("Stalled", {
    reason: "LifetimeNotGranted",
    message: `spec.expiresInDays is ${spec.expiresInDays}, but this namespace's grant allows at most ${account.maxExpiresInDays}. Set spec.expiresInDays to ${account.maxExpiresInDays} or less, or ask the connection's administrator for a higher maxExpiresInDays.`,
  });
}

/** Another key could not be read either, and would be lost as the last key was. */
function responseIsUnreadable(snapshot: ApiKeySnapshot): Waiting | undefined {
  const { account, object, status } = snapshot;
  const { unreadableResponse } = status;
  if (unreadableResponse === undefined || account.kind !== "Ready") return undefined;
  if (rotationIsRequested(snapshot) !== undefined) return undefined;
  if (!isStopped(unreadableResponse, object, clientIdentity(account.connectionSpec)))
    return undefined;
  const isLost = status.orphaned.some(
    ({ attemptId }) => attemptId === unreadableResponse.attemptId,
  );
  const lost = isLost ? " The key of that response is listed in status.orphaned." : "";
  return blocked("Stalled", {
    reason: UNREADABLE_RESPONSE,
    message: describeStop(unreadableResponse, lost),
  });
}

/** The administrator's limit. Requested rotations cannot exceed it. */
function namespaceBudgetIsUsedUp(
  { account }: ApiKeySnapshot,
  at: ClockReading,
  because: KeyNeed,
): Waiting | undefined {
  if (account.kind !== "Ready" || account.namespaceIssues === undefined) return undefined;
  const { most, count, freeAt } = account.namespaceIssues;
  const leftMs = freeAt - certainTime(at);
  if (leftMs <= 0) return undefined;
  const follows = Number.isFinite(freeAt) ? `at ${toIso8601(freeAt)} or ` : "";
  const message = `${because.message} But keys issued for the ApiKeys of this namespace in the last 24 hours: ${count}. Its grant allows ${most}, requested rotations included; the next key can follow ${follows}when the connection's administrator raises maxIssuesPerDay.`;
  return blocked(
    "Reconciling",
    { reason: "NamespaceBudgetExceeded", message },
    Math.min(leftMs, HOUR),
  );
}

/** When `maxIssuesPerDay` permits another key: requested rotations do not count. */
function budgetReturnsAt({ spec, status }: ApiKeySnapshot, certain: Instant): Instant {
  const newestFirst = status.recentIssues
    .filter(({ requested }) => requested !== true)
    .map(({ time }) => time)
    .toSorted((one, other) => other - one);
  const oldestCounted = newestFirst[spec.maxIssuesPerDay - 1];
  return oldestCounted === undefined ? certain : oldestCounted + DAY;
}

/**
 * Of the orphaned keys of one attempt, only one counts: attempts of other ApiKeys issued the others. Late keys do not
 * count: their descriptions can be forged.
 */
function ownOrphans(orphaned: KeyStatus["orphaned"]): readonly OrphanedKey[] {
  const counted = orphaned.filter(({ late }) => late !== true);
  return [...new Map(counted.map((key) => [key.attemptId, key])).values()];
}

function budgetIsUsedUp(
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  because: KeyNeed,
): Waiting | undefined {
  const now = certainTime(at);
  const until = budgetReturnsAt(snapshot, now);
  if (until <= now || rotationIsRequested(snapshot) !== undefined) return undefined;
  const message = `${because.message} But the keys issued since ${toIso8601(until - DAY)} have reached the limit of maxIssuesPerDay (${snapshot.spec.maxIssuesPerDay}); the next key can follow at ${toIso8601(until)}, or when you set the annotation iam-operator.io/rotate-requested-at.`;
  return blocked("Reconciling", { reason: "BudgetExceeded", message }, until - now);
}

/**
 * After this many lost keys in a row, one key a day is tried, while the key in use works and does not expire soon: a
 * console that loses its responses does not fill up with keys, and no workload is left without a usable key.
 */
const MAX_LOST_KEYS = 2;

function keysAreLost(
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  because: KeyNeed,
): Waiting | undefined {
  const now = certainTime(at);
  const { current, orphaned } = snapshot.status;
  if (current === undefined || at.now >= safetyLimit(current) || !isUsable(snapshot, now))
    return undefined;
  if (rotationIsRequested(snapshot) !== undefined) return undefined;
  const lost = ownOrphans(orphaned).filter(
    (key) => key.observedTime > current.issueTime && isOfSpec(key, snapshot),
  );
  const newest = Math.max(...lost.map(({ observedTime }) => observedTime));
  const until = Math.min(newest + DAY, safetyLimit(current));
  if (lost.length < MAX_LOST_KEYS || until <= now) return undefined;
  const message = `${because.message} But ${lost.length} keys were lost since key ${current.keyId} was issued; the next key can follow at ${toIso8601(until)}, or when you set the annotation iam-operator.io/rotate-requested-at.`;
  return blocked("Reconciling", { reason: "TooManyOrphanedKeys", message }, until - now);
}

/** A key that does not fit into the status would be in no status: not even a requested rotation may issue it. */
function statusIsFull({ status }: ApiKeySnapshot): Waiting | undefined {
  const { superseded, orphaned, current } = status;
  if (Math.max(superseded.length, orphaned.length) < MAX_LISTED_KEYS - LIST_RESERVE)
    return undefined;
  const startOver = current === undefined ? "Create this ApiKey again" : MOVE_WORKLOADS;
  return blocked("Stalled", {
    reason: "TooManyListedKeys",
    message: `The status lists ${superseded.length} superseded and ${orphaned.length} orphaned keys and cannot list more. Delete in the console the keys of both lists that nothing uses. ${startOver}.`,
  });
}

/** Pause after the second attempt in a row. Doubles with each attempt, up to {@link MAX_ATTEMPT_PAUSE_MS}. */
const ATTEMPT_PAUSE_MS = 20 * SECOND;
const MAX_ATTEMPT_PAUSE_MS = 5 * MINUTE;

/** Attempts an hour or more apart do not count as in a row. */
export function nextAttemptWithoutKey(
  before: AttemptsWithoutKey | undefined,
  monotonic: number,
): AttemptsWithoutKey {
  const isInARow = before !== undefined && monotonic - before.closedAt < HOUR;
  return { count: isInARow ? before.count + 1 : 1, closedAt: monotonic };
}

/**
 * Each attempt may issue a key later on, so the operator calls issueKey less and less often if the console does not
 * answer.
 */
function attemptsFailInARow(
  snapshot: ApiKeySnapshot,
  at: ClockReading,
  because: KeyNeed,
): Waiting | undefined {
  const { attemptsWithoutKey } = snapshot;
  if (attemptsWithoutKey === undefined || attemptsWithoutKey.count < 2) return undefined;
  if (rotationIsRequested(snapshot) !== undefined) return undefined;
  const pauseMs = Math.min(
    ATTEMPT_PAUSE_MS * 2 ** (attemptsWithoutKey.count - 2),
    MAX_ATTEMPT_PAUSE_MS,
  );
  const leftMs = attemptsWithoutKey.closedAt + pauseMs - at.monotonic;
  if (leftMs <= 0) return undefined;
  const message = `${because.message} But the console gave no usable response to the last ${attemptsWithoutKey.count} attempts, and no key was issued; the next attempt follows ${pauseMs / SECOND} seconds after the last attempt, or when you set the annotation iam-operator.io/rotate-requested-at.`;
  return blocked("Reconciling", { reason: "IssuanceFailing", message }, leftMs);
}
