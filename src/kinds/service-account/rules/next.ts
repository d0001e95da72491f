/** Next step of an object that is not being deleted. Pure. */

import type { Readiness } from "../../../api/conditions.ts";
import { FINALIZER } from "../../../api/meta.ts";
import { clientIdentity } from "../../../connections/client-settings.ts";
import type { IamServiceAccount } from "../../../console/model.ts";
import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import { firstFinding, type Settled, type Waiting } from "../../../reconciler/rules/outcome.ts";
import {
  describeStop,
  isStopped,
  UNREADABLE_RESPONSE,
} from "../../../reconciler/rules/unreadable-response.ts";
import { stalled } from "../../../reconciler/rules/waiting.ts";
import { describeAccount, isOfOtherCluster, markerOf } from "../../../resources/marker.ts";
import type { Instant } from "../../../util/time.ts";
import { truncateList } from "../../../util/truncate-list.ts";
import { withAccess } from "./access.ts";
import { accountReadiness, judgeAnswer } from "./account.ts";
import { nameAll, nextOfAttempt, RECHECK_MS, recordAccount } from "./attempt.ts";
import { desiredAccount } from "./desired-account.ts";
import { preconditions, tooManyCreated } from "./preconditions.ts";
import { isAuditDue, isReadDue, nextListTime } from "./read-schedule.ts";
import { findExisting } from "./recovery.ts";
import type {
  AccountAction,
  AccountDone,
  AccountProgress,
  AccountSnapshot,
  KnownAccount,
} from "./snapshot.ts";
import type { CreationAttempt } from "./status.ts";

type AccountStep = AccountAction | Waiting | Settled;

/** The next action, or what the object waits for. */
export function next({ snapshot, done }: AccountProgress, { now }: ClockReading): AccountStep {
  const { account } = snapshot;
  return (
    firstFinding(preconditions, snapshot) ??
    (account === undefined
      ? nextWithoutAccount(snapshot, done, now)
      : nextWithAccount(account, snapshot, done, now))
  );
}

/** Readiness of an object that needs no further action. */
export function standingOf(snapshot: AccountSnapshot): Readiness {
  const { account } = snapshot;
  const finding = firstFinding(preconditions, snapshot) ?? findingOf(snapshot);
  if (finding !== undefined) return finding;
  if (account === undefined) throw new Error("an object without an account is not settled");
  const readiness = accountReadiness(account);
  return readiness.state === "Ready" ? withAccess(readiness, snapshot) : readiness;
}

/** The finding of the last read, if it did not find the object's account. */
export function findingOf(snapshot: AccountSnapshot): Waiting | undefined {
  const judged = judgeAnswer(snapshot);
  return judged === undefined ? snapshot.state.lastRead?.finding : judged.finding;
}

function nextWithAccount(
  account: KnownAccount,
  snapshot: AccountSnapshot,
  { lookTime, listTime, audited }: AccountDone,
  now: Instant,
): AccountStep {
  if (lookTime === undefined && isReadDue(account, snapshot, now))
    return { kind: "GetAccount", saId: account.saId };
  const dueTime = nextListTime(snapshot, now);
  if (listTime === undefined && dueTime !== undefined && now >= dueTime)
    return { kind: "ListAccounts" };
  const { listTimes, request } = snapshot;
  const isDue = listTimes !== undefined && isAuditDue(listTimes, now, request !== undefined);
  if (isDue && listTime === undefined && audited !== true) return { kind: "AuditAccounts" };
  const finding = findingOf(snapshot);
  if (finding !== undefined) return finding;
  const { object, spec } = snapshot;
  const isHeld = object.metadata.finalizers?.includes(FINALIZER) ?? false;
  if (!isHeld && !spec.suspend)
    return { kind: "RecordAccount", because: "FinalizerMissing", account };
  const readiness = accountReadiness(account);
  return readiness.state === "Ready" ? { kind: "Settled" } : readiness;
}

function nextWithoutAccount(
  snapshot: AccountSnapshot,
  done: AccountDone,
  now: Instant,
): AccountStep {
  const { spec, attempt } = snapshot;
  if (spec.saId !== undefined) return importAccount(spec.saId, snapshot);
  if (attempt === undefined) return createUnlessThere(snapshot);
  if (attempt.id === done.announced) return createAccount(snapshot, attempt);
  return nextOfAttempt(attempt, snapshot, now) ?? stopped(snapshot) ?? createUnlessThere(snapshot);
}

/** Another account could be unknown to the operator, too. A later list may still show the account of the attempt. */
function stopped({ unreadableResponse, object, connection }: AccountSnapshot): Waiting | undefined {
  if (unreadableResponse === undefined || !connection.ok) return undefined;
  if (!isStopped(unreadableResponse, object, clientIdentity(connection.access.spec)))
    return undefined;
  const message = describeStop(unreadableResponse, " The console lists no account of this object.");
  return stalled(UNREADABLE_RESPONSE, message, RECHECK_MS);
}

function importAccount(saId: string, snapshot: AccountSnapshot): AccountStep {
  const judged = judgeAnswer(snapshot);
  if (judged === undefined) return { kind: "GetAccount", saId };
  return judged.account === undefined
    ? judged.finding
    : { kind: "RecordAccount", because: "Imported", account: judged.account };
}

function createUnlessThere(snapshot: AccountSnapshot): AccountStep {
  const { listing, attempt } = snapshot;
  if (listing === undefined) return { kind: "ListAccounts" };
  if (!listing.ok && listing.isTooLarge === true) return listTooLarge();
  if (!listing.ok && isLimited(snapshot)) return listUnreadable();
  const desired = desiredAccount(snapshot);
  // Without a listing, the operator cannot see an earlier account; the creation itself does not depend on the listing.
  const accounts = listing.ok ? listing.accounts : [];
  const existing = findExisting(accounts, desired);
  switch (existing.kind) {
    case "Found":
      return recordAccount(existing.account, "Recovered", snapshot);
    case "Unclear":
      return attempt === undefined
        ? accountExists(
            snapshot,
            desired.name,
            accounts.filter(({ saId }) => existing.saIds.includes(saId)),
          )
        : { kind: "CloseAttempt" };
    case "Nothing":
      return tooManyCreated(snapshot, accounts) ?? { kind: "RecordAttempt" };
  }
}

function listTooLarge(): Waiting {
  return stalled(
    "AccountListTooLarge",
    "The console's list of accounts is larger than the operator reads, so the operator does not know which accounts exist. No account is created. Ask the console's administrator to delete accounts that nothing uses.",
    RECHECK_MS,
  );
}

function isLimited({ connection }: AccountSnapshot): boolean {
  return connection.ok && connection.access.grant.maxServiceAccounts !== undefined;
}

/** Accounts that a list does not show would not count. */
function listUnreadable(): Waiting {
  return stalled(
    "AccountListUnreadable",
    "The grant of this namespace has maxServiceAccounts, but the console's list of accounts cannot be read whole, so the operator cannot count them. No account is created. Ask the connection's administrator to name the console's parameters in spec.accountListPages if it lists accounts in pages, or for a grant without maxServiceAccounts.",
    RECHECK_MS,
  );
}

function createAccount(snapshot: AccountSnapshot, attempt: CreationAttempt): AccountAction {
  const { key, orgId, projectId, name } = desiredAccount(snapshot);
  const { description: text } = snapshot.spec;
  const description = describeAccount(text, key, attempt.id, snapshot.clusterName);
  return { kind: "CreateAccount", account: { orgId, projectId, name, description } };
}

function accountExists(
  { connection, spec, clusterName }: AccountSnapshot,
  name: string,
  accounts: readonly IamServiceAccount[],
): Waiting {
  const markers = accounts.map(({ description = "" }) => markerOf(description));
  const clusters = new Set(markers.flatMap((marker) => marker?.cluster ?? []));
  const named =
    clusters.size === 0 ? "" : ` The description names cluster ${truncateList([...clusters], 5)}.`;
  const isShared = markers.some((marker) => isOfOtherCluster(marker, clusterName));
  const advice =
    isShared && spec.name === undefined
      ? " If each cluster is to have its own account, set accountNamePrefix of the connection; otherwise, delete"
      : " Delete";
  const mayImport = connection.ok && connection.access.grant.importServiceAccounts;
  const permission = mayImport
    ? ""
    : " Importing requires importServiceAccounts: true in this namespace's grant, which the connection's administrator sets.";
  return stalled(
    "AccountExists",
    `The console already has an account named ${name} (${nameAll(accounts.map(({ saId }) => saId))}).${named}${advice} this ServiceAccount and create it again: with spec.saId to import the account that exists, or with a different spec.name.${permission}`,
    RECHECK_MS,
  );
}
