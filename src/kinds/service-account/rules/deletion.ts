/** What a deletion waits for, calls and ends with. Pure. */

import { type EventReason, toEvent } from "../../../api/events.ts";
import { keyOf, keyText } from "../../../kube/resource.ts";
import { accessToRevoke } from "../../../reconciler/context.ts";
import { blockedSince, cleanupDeadline } from "../../../reconciler/rules/cleanup.ts";
import type { Released, Waiting } from "../../../reconciler/rules/outcome.ts";
import { reconciling, stalled } from "../../../reconciler/rules/waiting.ts";
import { type Instant, MINUTE, SECOND, toIso8601 } from "../../../util/time.ts";
import { accountSummary, judgeAnswer, tpnUnknown } from "./account.ts";
import { type FoundAccount, nameAll } from "./attempt.ts";
import { type Blocked, blockedBy } from "./blocked.ts";
import type { LostAccount } from "./lost-account.ts";
import { otherOwnerOf } from "./owner.ts";
import { connectionNotUsable } from "./preconditions.ts";
import type {
  AccountSnapshot,
  AccountUser,
  Answered,
  KnownAccount,
  WithAccount,
} from "./snapshot.ts";
import {
  boundByOperator,
  lateSync,
  leavesOthers,
  mayManageImported,
  policyOf,
  toUnbind,
} from "./unbinding.ts";

const RETRY_MS = 30 * SECOND;
const RECHECK_MS = 5 * MINUTE;

/** How a run ends, before the deadline of the cleanup is considered. */
export type DeletionEnd = Waiting | Released | Blocked;

/** `Unconfirmed`: the console answered the call with success, and does not show its effect. */
export type CleanUp =
  | "Revoked"
  | "Deleted"
  | "RetainNotGranted"
  | "RevokeUnconfirmed"
  | "DeleteUnconfirmed";

/** syncBindings with nothing to bind, or without the policies given. */
export interface Revocation {
  readonly tpn: string;
  readonly orgId: string;
  /** Absent to unbind every policy, including policies bound outside the operator. */
  readonly only?: readonly string[];
}

/** What a deletion waits for before it looks at its account or attempt. */
export function deletionWait(snapshot: AccountSnapshot): Waiting | undefined {
  const { users, spec } = snapshot;
  if (users.length > 0) return inUse(snapshot);
  return spec.suspend
    ? stalled("Suspended", "Nothing is done while spec.suspend is true.")
    : undefined;
}

/** Why the console cannot be called; `undefined` if it can. */
export function consoleUnusable(snapshot: AccountSnapshot): Blocked | undefined {
  const { connection, account } = snapshot;
  const waiting = accessToRevoke(connection) ? undefined : connectionNotUsable(snapshot);
  if (waiting !== undefined) return blockedBy(waiting);
  // An account that was never imported is not even read.
  if (account !== undefined || mayManageImported(snapshot)) return undefined;
  const message = "The connection does not let this namespace manage imported service accounts.";
  return blockedBy(stalled("NotGranted", message));
}

const NOTHING_LEFT: Released = { kind: "Released", events: [] };

/** After the search for an account that the status does not name. */
export function endOfSearch(
  lost: LostAccount,
  snapshot: AccountSnapshot,
): FoundAccount | DeletionEnd {
  if (lost.kind === "Found") return lost;
  const waiting = deletionWait(snapshot);
  if (waiting !== undefined) return waiting;
  if (lost.kind === "Unclear") return leaveUnclear(lost.saIds);
  return lost.kind === "Nothing" || policyOf(snapshot) === "Retain" ? NOTHING_LEFT : lost;
}

/** After the search for the account that an attempt may have created. */
export function endOfAttempt(
  outcome: FoundAccount | Waiting | undefined,
): FoundAccount | DeletionEnd {
  if (outcome === undefined) return NOTHING_LEFT;
  const isStalled = outcome.kind === "Waiting" && outcome.state === "Stalled";
  return isStalled ? blockedBy(outcome) : outcome;
}

/** In order, before the account is read: each rule may rely on all earlier rules having found nothing. */
export const beforeRead: readonly ((
  snapshot: WithAccount,
  now: Instant,
) => DeletionEnd | undefined)[] = [
  deletionWait,
  nothingToUnbind,
  consoleUnusable,
  managedByOther,
  deleteNotPossible,
];

/** In order, after the account was read. */
export const beforeCleanUp: readonly ((
  snapshot: WithAccount & Answered,
) => DeletionEnd | undefined)[] = [gone, mismatched];

function nothingToUnbind(snapshot: WithAccount, now: Instant): Released | undefined {
  const isNothing = leavesOthers(snapshot) && toUnbind(snapshot, now).length === 0;
  return isNothing ? retained(snapshot) : undefined;
}

function retained(snapshot: WithAccount): Released {
  return released("Retained", `Left service account ${accountSummary(snapshot)} as it is.`);
}

function managedByOther(snapshot: WithAccount): Released | undefined {
  const { saId } = snapshot.account;
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
function deleteNotPossible(snapshot: WithAccount): DeletionEnd | undefined {
  const { account, connection, namespaceTerminating } = snapshot;
  const isPossible = accessToRevoke(connection)?.extraCalls.has("deleteServiceAccount");
  if (policyOf(snapshot) !== "Delete" || isPossible || leavesOthers(snapshot)) return undefined;
  const finding = stalled(
    "DeleteNotPossible",
    `The console documents no call that deletes service account ${account.saId}. Set spec.extraCalls.deleteServiceAccount of the connection, or spec.deletionPolicy to Revoke or Retain.`,
    RECHECK_MS,
  );
  return namespaceTerminating ? blockedBy(finding) : finding;
}

/** A lagging replica of the console may not know a new account yet, so the cleanup calls are made anyway. */
function gone(snapshot: WithAccount & Answered): Released | undefined {
  const { account, answer } = snapshot;
  const isNamed = account.tpn !== undefined || policyOf(snapshot) === "Delete";
  return answer.detail !== undefined || isNamed ? undefined : releasedAsGone(account);
}

/** An account that is not the object's own stays unchanged. */
function mismatched(snapshot: WithAccount & Answered): Blocked | undefined {
  if (snapshot.answer.detail === undefined) return undefined;
  const { finding } = judgeAnswer(snapshot);
  return finding && blockedBy(finding);
}

type CleanUpCall =
  | { readonly kind: "DeleteAccount"; readonly saId: string }
  | ({ readonly kind: "RevokePolicies" } & Revocation);

/** The call that cleans up. */
export function cleanUpCall(snapshot: WithAccount, now: Instant): CleanUpCall | Blocked {
  const { saId, tpn, orgId } = snapshot.account;
  const onlyOurs = leavesOthers(snapshot);
  if (policyOf(snapshot) === "Delete" && !onlyOurs) return { kind: "DeleteAccount", saId };
  if (tpn === undefined) return blockedBy(tpnUnknown(saId, "so its policies cannot be unbound"));
  const only = onlyOurs ? { only: toUnbind(snapshot, now) } : {};
  return { kind: "RevokePolicies", tpn, orgId, ...only };
}

/** After the call. */
export function endAfter(
  how: CleanUp,
  snapshot: WithAccount & Answered,
  now: Instant,
): DeletionEnd {
  const late = waitForLateSync(how, snapshot, now);
  if (late !== undefined) return late;
  return snapshot.answer.detail === undefined
    ? releasedAsGone(snapshot.account)
    : cleanedUp(how, snapshot);
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

function releasedAsGone({ saId }: KnownAccount): Released {
  return released("Released", `The console no longer has service account ${saId}.`);
}

function cleanedUp(how: CleanUp, snapshot: WithAccount): Released {
  const summary = accountSummary(snapshot);
  switch (how) {
    case "RetainNotGranted":
      if (boundByOperator(snapshot).length === 0) return retained(snapshot);
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

/** After a failure: retries soon, until the time limit. */
export function retryOrGiveUp(
  { finding }: Blocked,
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

function remainder(snapshot: AccountSnapshot): string {
  const { object, account, attempt } = snapshot;
  const name = keyText(keyOf(object));
  if (account !== undefined)
    return `service account ${accountSummary({ ...snapshot, account })}, with its policies`;
  return attempt === undefined
    ? `the account of ServiceAccount ${name}, if any: its status does not name it`
    : `the account that attempt ${attempt.id} of ${name} possibly created`;
}

/** A finding that the account is gone stays: it decides about keys and policies until the object is deleted. */
export function inUse({ object, users }: Pick<AccountSnapshot, "object" | "users">): Waiting {
  const said = ["Deletion waits for objects that still use this object.", ...adviceOn(users)];
  const message = said.join(" ");
  if (object.status?.ownership !== "Gone") return reconciling("InUse", message, RECHECK_MS);
  const isGone = `The console no longer has service account ${object.status?.saId}.`;
  return stalled("ServiceAccountGone", `${isGone} ${message}`, RECHECK_MS);
}

/** Keys that workloads use need the policies: these go last. */
function adviceOn(users: readonly AccountUser[]): readonly string[] {
  const named = (wanted: AccountUser["use"]) =>
    nameAll(users.filter(({ use }) => use === wanted).map(({ name }) => name));
  const keys = named("Keys");
  const moving = named("MovingKeys");
  const superseded = named("SupersededKeys");
  const policies = named("Policies");
  const isAlone = users.every(({ use }) => use === "Policies");
  return [
    keys &&
      `Delete ${keys} first; an ApiKey can instead name another ServiceAccount in spec.serviceAccountRef.`,
    moving &&
      `Wait until the move of ${moving} to another ServiceAccount is done; the condition IssuanceAllowed says what it waits for.`,
    policies &&
      `Delete ${policies} ${isAlone ? "first" : "last, because keys in use need the policies"}.`,
    superseded &&
      `Keys of this account may still work: ${superseded} (superseded keys). The deletion waits until they are revoked or expire, or until spec.access: Revoked has taken all permissions from them. Keep these ApiKeys: they issue keys of another account.`,
  ].filter((sentence) => sentence !== "");
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
