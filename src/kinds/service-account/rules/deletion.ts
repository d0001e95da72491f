/** Next step of an object that is being deleted. Every step can be repeated after a crash. Pure. */

import { ACCOUNT_REASON, whyKeysFail } from "../../../accounts/standing.ts";
import { WATCH_MS } from "../../../accounts/sync-watch.ts";
import { type EventReason, toEvent } from "../../../api/events.ts";
import { keyOf, keyText } from "../../../kube/resource.ts";
import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import { accessToRevoke } from "../../../reconciler/context.ts";
import { blockedSince, cleanupDeadline } from "../../../reconciler/rules/cleanup.ts";
import { firstFinding, type Released, type Waiting } from "../../../reconciler/rules/outcome.ts";
import { reconciling, stalled } from "../../../reconciler/rules/waiting.ts";
import { CLOCK_TOLERANCE_MS } from "../../../util/agreed-time.ts";
import { type Instant, MINUTE, parseInstant, SECOND, toIso8601 } from "../../../util/time.ts";
import { accountSummary, judgeAnswer, tpnUnknown } from "./account.ts";
import { nameAll, nextOfAttempt } from "./attempt.ts";
import { type LostAccount, nextOfLostAccount } from "./lost-account.ts";
import { otherOwnerOf } from "./owner.ts";
import { connectionNotUsable } from "./preconditions.ts";
import type {
  AccountAction,
  AccountProgress,
  AccountSnapshot,
  CleanUp,
  KnownAccount,
} from "./snapshot.ts";
import type { CreationAttempt } from "./status.ts";

const RETRY_MS = 30 * SECOND;
const RECHECK_MS = 5 * MINUTE;

/** The cleanup failed. It is retried until its deadline (L6). */
interface Failing {
  readonly kind: "Failing";
  readonly finding: Waiting;
}

type AccountDeletionStep = AccountAction | Waiting | Released | Failing;

/** The spec's deletion policy. Default: Retain for an imported account, Revoke for a created account. */
export function policyOf(snapshot: AccountSnapshot): "Revoke" | "Retain" | "Delete" {
  return snapshot.spec.deletionPolicy ?? (isImported(snapshot) ? "Retain" : "Revoke");
}

/** The next action, what the deletion waits for, or permission to remove the finalizer. */
export function nextOfDeletion(
  progress: AccountProgress,
  { now }: ClockReading,
): AccountAction | Waiting | Released {
  const step = deletionStep(progress, now);
  return step.kind === "Failing" ? retryOrGiveUp(step.finding, progress.snapshot, now) : step;
}

/** Whether the cleanup is failing. */
export function isFailing(progress: AccountProgress, { now }: ClockReading): boolean {
  return deletionStep(progress, now).kind === "Failing";
}

function deletionStep(progress: AccountProgress, now: Instant): AccountDeletionStep {
  const { snapshot, done } = progress;
  const { account, attempt, users, spec } = snapshot;
  const failure = done.failure ?? cannotCleanUp(snapshot);
  const lost =
    account === undefined && attempt === undefined && failure === undefined
      ? nextOfLostAccount(snapshot)
      : undefined;
  if (lost?.kind === "Next") return lost.action;
  if (users.length > 0) return inUse(snapshot);
  if (spec.suspend)
    return stalled(ACCOUNT_REASON.suspended, "Nothing is done while spec.suspend is true.");
  if (account !== undefined) return nextWithAccount(account, progress, failure, now);
  return attempt === undefined
    ? nextWithoutAccount(lost, snapshot, failure)
    : nextWithAttempt(attempt, snapshot, failure, now);
}

/** Neither the status nor the console names an account. */
function nextWithoutAccount(
  lost: LostAccount | undefined,
  snapshot: AccountSnapshot,
  failure: Waiting | undefined,
): AccountDeletionStep {
  if (lost?.kind === "Unclear") return leaveUnclear(lost.saIds);
  const unknown = lost?.kind === "Unknown" ? lost.finding : failure;
  return unknown === undefined || policyOf(snapshot) === "Retain"
    ? { kind: "Released", events: [] }
    : { kind: "Failing", finding: unknown };
}

/** An attempt may have created an account that is not known yet. */
function nextWithAttempt(
  attempt: CreationAttempt,
  snapshot: AccountSnapshot,
  failure: Waiting | undefined,
  now: Instant,
): AccountDeletionStep {
  if (failure !== undefined) return { kind: "Failing", finding: failure };
  const step = nextOfAttempt(attempt, snapshot, now);
  if (step === undefined) return { kind: "Released", events: [] };
  return step.kind === "Waiting" && step.state === "Stalled"
    ? { kind: "Failing", finding: step }
    : step;
}

/** In order: each rule may rely on all earlier rules having found nothing. */
const beforeCleanUp: readonly ((
  account: KnownAccount,
  snapshot: AccountSnapshot,
) => AccountDeletionStep | undefined)[] = [
  managedByOther,
  deleteNotPossible,
  notLookedUp,
  gone,
  mismatched,
];

function nextWithAccount(
  account: KnownAccount,
  { snapshot, done }: AccountProgress,
  failure: Waiting | undefined,
  now: Instant,
): AccountDeletionStep {
  if (done.cleanedUp !== undefined)
    return (
      waitForLateSync(done.cleanedUp, snapshot, now) ??
      (snapshot.answer?.detail === undefined
        ? releasedAsGone(account)
        : cleanedUp(done.cleanedUp, account, snapshot))
    );
  if (leavesOthers(snapshot) && toUnbind(snapshot, now).length === 0) return retained(account);
  if (failure !== undefined) return { kind: "Failing", finding: failure };
  return firstFinding(beforeCleanUp, account, snapshot) ?? cleanUp(account, snapshot, now);
}

function retained(account: KnownAccount): Released {
  return released("Retained", `Left service account ${accountSummary(account)} as it is.`);
}

function managedByOther(
  { saId }: KnownAccount,
  snapshot: AccountSnapshot,
): AccountDeletionStep | undefined {
  return otherOwnerOf(saId, snapshot) === undefined
    ? undefined
    : released(
        "Released",
        `Service account ${saId} is managed by another object and stays as it is.`,
      );
}

/**
 * The policy is Delete, but the connection does not define the call. The deletion waits for a change, except in a
 * terminating namespace, where it gives up after a while.
 */
function deleteNotPossible(
  { saId }: KnownAccount,
  snapshot: AccountSnapshot,
): AccountDeletionStep | undefined {
  const { connection, namespaceTerminating } = snapshot;
  const isPossible = accessToRevoke(connection)?.extraCalls.has("deleteServiceAccount");
  if (policyOf(snapshot) !== "Delete" || isPossible || leavesOthers(snapshot)) return undefined;
  const finding = stalled(
    ACCOUNT_REASON.deleteNotPossible,
    `The console documents no call that deletes service account ${saId}. Set spec.extraCalls.deleteServiceAccount of the connection, or spec.deletionPolicy to Revoke or Retain.`,
    RECHECK_MS,
  );
  return namespaceTerminating ? { kind: "Failing", finding } : finding;
}

function notLookedUp(
  { saId }: KnownAccount,
  { answer }: AccountSnapshot,
): AccountDeletionStep | undefined {
  return answer === undefined ? { kind: "GetAccount", saId } : undefined;
}

/** A lagging replica of the console may not know a new account yet, so the cleanup calls are made anyway. */
function gone(account: KnownAccount, snapshot: AccountSnapshot): AccountDeletionStep | undefined {
  if (snapshot.answer?.detail !== undefined) return undefined;
  const isNamed = account.tpn !== undefined || policyOf(snapshot) === "Delete";
  return isNamed ? undefined : releasedAsGone(account);
}

/**
 * A syncBindings call without a usable response may bind policies after the cleanup. Until that is unlikely, the object
 * stays and the cleanup is repeated: without the object, nothing would unbind them.
 */
function waitForLateSync(
  how: CleanUp,
  snapshot: AccountSnapshot,
  now: Instant,
): Waiting | undefined {
  const late = lateSync(snapshot, now);
  if (late === undefined || how === "Deleted") return undefined;
  const { leftMs } = late;
  return reconciling(
    "WaitingForLateCall",
    `The cleanup in the console is done. An earlier syncBindings call had no usable response and may still bind policies: they are unbound again every 30 seconds, and the deletion ends at ${toIso8601(now + leftMs)}.`,
    Math.min(RETRY_MS, leftMs),
  );
}

/**
 * A call without a usable response that may still take effect. A time in the future is of a wrong clock: the start of the
 * deletion counts instead.
 */
function lateSync(
  { object }: AccountSnapshot,
  now: Instant,
): { readonly policyIds: readonly string[]; readonly leftMs: number } | undefined {
  const { time, policyIds = [] } = object.status?.bindings?.unansweredSync ?? {};
  const givenUp = parseInstant(time);
  if (givenUp === undefined) return undefined;
  const since = [givenUp, parseInstant(object.metadata.deletionTimestamp)].find(
    (each) => each !== undefined && each <= now + CLOCK_TOLERANCE_MS,
  );
  const leftMs = since === undefined ? 0 : Math.min(since, now) + WATCH_MS - now;
  return leftMs > 0 ? { policyIds, leftMs } : undefined;
}

function releasedAsGone({ saId }: KnownAccount): Released {
  return released("Released", `The console no longer has service account ${saId}.`);
}

/** An account that is not the object's own stays unchanged. */
function mismatched(_: KnownAccount, snapshot: AccountSnapshot): AccountDeletionStep | undefined {
  if (snapshot.answer?.detail === undefined) return undefined;
  const finding = judgeAnswer(snapshot)?.finding;
  return finding && { kind: "Failing", finding };
}

function cleanUp(
  { saId, tpn, orgId }: KnownAccount,
  snapshot: AccountSnapshot,
  now: Instant,
): AccountDeletionStep {
  const onlyOurs = leavesOthers(snapshot);
  if (policyOf(snapshot) === "Delete" && !onlyOurs) return { kind: "DeleteAccount", saId };
  if (tpn === undefined)
    return { kind: "Failing", finding: tpnUnknown(saId, "so its policies cannot be unbound") };
  const only = onlyOurs ? { only: toUnbind(snapshot, now) } : {};
  return { kind: "RevokePolicies", tpn, orgId, ...only };
}

/** Whether policies bound outside the operator stay bound. */
function leavesOthers(snapshot: AccountSnapshot): boolean {
  return policyOf(snapshot) === "Retain" || !mayManageImported(snapshot);
}

/** Policies that a deletion must unbind if it leaves the others. */
function toUnbind(snapshot: AccountSnapshot, now: Instant): readonly string[] {
  const late = lateSync(snapshot, now)?.policyIds ?? [];
  const { policyIds = [], abandonedPolicyIds = [] } = snapshot.object.status?.bindings ?? {};
  const kept = retainsPolicies(snapshot) ? [...policyIds, ...abandonedPolicyIds] : [];
  return [...new Set([...boundByOperator(snapshot), ...late])].filter((id) => !kept.includes(id));
}

/** Policies that the operator bound and that the deletion must unbind. */
function boundByOperator(snapshot: AccountSnapshot): readonly string[] {
  if (retainsPolicies(snapshot)) return [];
  const bindings = snapshot.object.status?.bindings ?? {};
  const { policyIds = [], abandonedPolicyIds = [], unrevokedPolicyIds = [] } = bindings;
  return [...new Set([...policyIds, ...abandonedPolicyIds, ...unrevokedPolicyIds])];
}

/** Whether the policy is Retain and the grant allows retaining policies. */
function retainsPolicies(snapshot: AccountSnapshot): boolean {
  const { connection, spec } = snapshot;
  const rights = connection.ok ? connection.access.grant : connection.grant;
  const mayRetain = rights?.retainPolicies ?? spec.connectionRef.kind === "Connection";
  return mayRetain && policyOf(snapshot) === "Retain";
}

/** If the namespace may no longer manage an imported account, only policies that the operator bound are unbound. */
function mayManageImported(snapshot: AccountSnapshot): boolean {
  const { connection } = snapshot;
  if (!isImported(snapshot)) return true;
  return connection.ok && connection.access.grant.importServiceAccounts;
}

function cleanedUp(how: CleanUp, account: KnownAccount, snapshot: AccountSnapshot): Released {
  const summary = accountSummary(account);
  switch (how) {
    case "RetainNotGranted":
      if (boundByOperator(snapshot).length === 0) return retained(account);
      return released(
        how,
        `The grant of the connection does not allow to retain policies: ${nameAll(boundByOperator(snapshot))} were unbound. Otherwise service account ${summary} stays as it is.`,
      );
    case "Deleted":
      return released(how, `Deleted service account ${summary}.`);
    case "Revoked":
      return released(
        how,
        `Unbound every policy of service account ${summary}; the account itself stays in the console.`,
      );
    case "RevokeUnconfirmed":
      return released(
        "OutcomeUnconfirmed",
        `The console accepted a list without the policies of service account ${summary}, but its answer about the bound policies cannot be read: whether they are unbound is unknown. The account itself stays in the console.`,
      );
    case "DeleteUnconfirmed":
      return released(
        "OutcomeUnconfirmed",
        `The console accepted to delete service account ${summary}, but its answers do not show whether the account is deleted. Check it in the console.`,
      );
  }
}

/** Why the console cannot be called; `undefined` if it can. */
function cannotCleanUp(snapshot: AccountSnapshot): Waiting | undefined {
  if (accessToRevoke(snapshot.connection) === undefined) return connectionNotUsable(snapshot);
  // An account that was never imported is not even read.
  if (snapshot.account !== undefined || mayManageImported(snapshot)) return undefined;
  const message = "The connection does not let this namespace manage imported service accounts.";
  return stalled(ACCOUNT_REASON.notGranted, message);
}

function isImported({ account, spec }: AccountSnapshot): boolean {
  return account === undefined ? spec.saId !== undefined : account.origin === "Imported";
}

/** After a failure: retries soon, until the time limit. */
function retryOrGiveUp(
  finding: Waiting,
  snapshot: AccountSnapshot,
  now: Instant,
): Waiting | Released {
  const leftMs = cleanupDeadline(blockedSince(snapshot.object), now) - now;
  if (leftMs > 0) return { ...finding, afterMs: Math.min(RETRY_MS, leftMs) };
  return released(
    "CleanupIncomplete",
    `Gave up cleaning up in the console and left ${remainder(snapshot)}. Last reason: ${finding.message.slice(0, 400)}`,
  );
}

function remainder({ object, account, attempt }: AccountSnapshot): string {
  const name = keyText(keyOf(object));
  if (account !== undefined) return `service account ${accountSummary(account)}, with its policies`;
  return attempt === undefined
    ? `the account of ServiceAccount ${name}, if any: its status does not name it`
    : `the account that attempt ${attempt.id} of ${name} possibly created`;
}

/** How `users` marks an ApiKey of another account that still has keys of this account. */
export const SUPERSEDED_KEYS = "(superseded keys)";

/** A finding that the account is gone stays: it decides about keys and policies until the object is deleted. */
export function inUse({ object, users }: Pick<AccountSnapshot, "object" | "users">): Waiting {
  const former = users.filter((user) => user.endsWith(SUPERSEDED_KEYS));
  const others = users.filter((user) => !former.includes(user));
  const advice = [
    others.length === 0 ? "" : ` Delete ${nameAll(others)} first.`,
    former.length === 0
      ? ""
      : ` Keys of this account may still work: ${nameAll(former)}. They count until they are revoked or expire, or until spec.access: Revoked has taken all permissions from them.`,
  ].join("");
  const message = `Deletion waits for objects that still use this object.${advice}`;
  if (whyKeysFail(object) !== "Gone") return reconciling(ACCOUNT_REASON.inUse, message, RECHECK_MS);
  const isGone = `The console no longer has service account ${object.status?.saId}.`;
  return stalled(ACCOUNT_REASON.gone, `${isGone} ${message}`, RECHECK_MS);
}

function leaveUnclear(saIds: readonly string[]): Released {
  return released(
    "CleanupIncomplete",
    `The status does not name the account, and the console does not show who created ${nameAll(saIds)}, which has the same name: it stays, with its policies. If it was created for this object, unbind them in the console.`,
  );
}

function released(reason: EventReason, note: string): Released {
  return { kind: "Released", events: [toEvent(reason, "Delete", note)] };
}
