/** The report of a ServiceAccount's run. Pure. */

import { isDeepStrictEqual } from "node:util";
import { CREATING } from "../../../accounts/new-account.ts";
import { isRevocationSubmitted } from "../../../accounts/revocation-proof.ts";
import type { Readiness } from "../../../api/conditions.ts";
import { toEvent } from "../../../api/events.ts";
import { isRevoking } from "../../../api/revoking.ts";
import type { ServiceAccount } from "../../../api/service-account.ts";
import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import {
  leavesRequestOpen,
  type Outcome,
  type Waiting,
} from "../../../reconciler/rules/outcome.ts";
import type { ObjectReport, Report } from "../../../reconciler/rules/report.ts";
import { serviceAccountType } from "../../../resources/resource-types.ts";
import { type AgreedTime, correctedTime } from "../../../util/agreed-time.ts";
import { isBeingDeleted } from "../../../util/object-meta.ts";
import { type Instant, SECOND } from "../../../util/time.ts";
import { accessConditions } from "./access.ts";
import { auditKeys } from "./audit.ts";
import { auditConditions, auditEvents } from "./audit-report.ts";
import { doubtAbout } from "./creation.ts";
import { inUse } from "./deletion.ts";
import { consoleURLOf } from "./desired-account.ts";
import { explainAttempts } from "./issue-attempts.ts";
import { orphanedAccountEvents, orphanedAccounts } from "./orphaned-accounts.ts";
import { ownershipOf } from "./ownership.ts";
import { nextListTime, nextReadTime, readTimeAfter } from "./read-schedule.ts";
import { findingOf, findingOn, readinessOf } from "./readiness.ts";
import type {
  AccountOrigin,
  AccountRead,
  AccountSnapshot,
  AccountState,
  KnownAccount,
} from "./snapshot.ts";
import { type AccountStatus, accountStatusCodec } from "./status.ts";

/** Status, readiness, events, and when to reconcile again. A failed run leaves a user's request open. */
export function report(
  snapshot: AccountSnapshot,
  outcome: Outcome,
  at: ClockReading,
  before: AccountState = {},
): Report<AccountState> {
  const readiness = readinessAfter(snapshot, outcome);
  const audit = isBeingDeleted(snapshot.object) ? undefined : auditKeys(snapshot, at.now);
  const { explained, evidence, afterMs } = explainAttempts(snapshot, at.now);
  const state = {
    ...stateAfter(snapshot, outcome, readiness, at, before),
    unnamed: audit?.unnamed,
    evidence,
  };
  const found = { ...(audit ?? storedAudit(snapshot)), explainedAttempts: explained };
  const object = {
    ...objectReport(snapshot, readiness, state.lastRead?.startTime, at, found),
    conditions: [
      ...auditConditions(snapshot, audit, ownershipOf(snapshot) === "Gone"),
      ...accessConditions(snapshot),
    ],
    // A suspended object reports problems of its account too.
    suspended: outcome.kind === "Suspended" && readiness.state === "Ready",
    isCleanupBlocked:
      outcome.kind === "Failed" || !isBeingDeleted(snapshot.object)
        ? undefined
        : snapshot.isCleanupBlocked === true || snapshot.usersAreBlocked,
    handledRequest: isOpen(outcome) ? undefined : snapshot.request,
  };
  return {
    objects: [object],
    events: [
      ...eventsOf(snapshot),
      ...auditEvents(snapshot, audit),
      ...orphanedAccountEvents(snapshot, orphanedAccounts(snapshot, at.now)),
    ],
    requeueAfterMs:
      outcome.kind === "Failed"
        ? undefined
        : soonest(requeueAfterMs(snapshot, readiness, state, at), audit?.afterMs, afterMs),
    // Without the account, its policies cannot be unbound.
    isUrgent:
      snapshot.spec.access === "Revoked" &&
      !isRevocationSubmitted(snapshot.object.status?.bindings),
    state,
  };
}

type KeyFindings = Pick<
  AccountStatus,
  "unmanagedKeys" | "unmanagedKeyCount" | "expiredKeyIds" | "explainedAttempts"
>;

/** The status of an account; `listTime` is when its keys were last read. */
function objectReport(
  snapshot: AccountSnapshot,
  readiness: Readiness,
  listTime: Instant | undefined,
  at: AgreedTime,
  found: KeyFindings,
): ObjectReport<ServiceAccount> {
  const { object, account, attempt, recoveryTime, unreadableResponse } = snapshot;
  const { unmanagedKeys, unmanagedKeyCount, expiredKeyIds, explainedAttempts } = found;
  const ownership = ownershipOf(snapshot);
  const status = accountStatusCodec.encode({
    ...account,
    // A status that was edited or restored can lack it; an empty one would be taken for another organization.
    orgId: account?.orgId === "" ? undefined : account?.orgId,
    ownership,
    unmanagedKeys,
    unmanagedKeyCount,
    expiredKeyIds,
    explainedAttempts: explainedAttempts?.length === 0 ? undefined : explainedAttempts,
    orphanedAccounts: orphanedAccounts(snapshot, at.now),
    name: account?.name?.slice(0, 128).toWellFormed(),
    state: ownership === "Gone" ? undefined : account?.state?.slice(0, 64).toWellFormed(),
    keyCount: keyCountOf(snapshot),
    lastKeyListTime: account?.liveKeyIds && keyListTime(account.liveKeyIds, snapshot, listTime, at),
    attempt,
    unreadableResponse: attempt && unreadableResponse,
    lastAttemptId: attempt === undefined ? lastAttemptId(object) : object.status?.lastAttemptId,
    lastRecoveryTime: recoveryTime,
  });
  return { type: serviceAccountType, object, status, readiness, write: writeOf(snapshot) };
}

/**
 * A status that names no account must not replace one that another process has written since, with an intent or the
 * account: it is written only over the version that the run has read.
 */
function writeOf({ object, account }: AccountSnapshot): NonNullable<ObjectReport["write"]> {
  const { resourceVersion } = object.metadata;
  return account === undefined ? { resourceVersion } : {};
}

/**
 * Absent until a list has shown a key: the empty list of a new account soon lacks keys that are issued for it. Absent if
 * the console no longer has the account.
 */
function keyCountOf(snapshot: AccountSnapshot): number | undefined {
  const { account, object } = snapshot;
  if (ownershipOf(snapshot) === "Gone") return undefined;
  const count = account?.liveKeyIds?.length;
  return count === 0 && object.status?.keyCount === undefined ? undefined : count;
}

/** Whether a user's request stays open: the run is retried, or is about to create the account. */
function isOpen(outcome: Outcome): boolean {
  return leavesRequestOpen(outcome) || (outcome.kind === "Waiting" && outcome.reason === CREATING);
}

function lastAttemptId({ status }: ServiceAccount): string | undefined {
  return status?.attempt?.id ?? status?.lastAttemptId;
}

/** If the object is being deleted, earlier findings stay. */
function storedAudit(snapshot: AccountSnapshot): Omit<KeyFindings, "explainedAttempts"> {
  return accountStatusCodec.decode(isBeingDeleted(snapshot.object) ? snapshot.object.status : {});
}

/**
 * Changes only with the list, if a key came into use since, or on request, so that an unchanged state is not written
 * again.
 */
function keyListTime(
  listed: readonly string[],
  { object, unlistedKeyTime, request }: AccountSnapshot,
  listTime: Instant | undefined,
  at: AgreedTime,
): Instant | undefined {
  const { lastKeyListTime, liveKeyIds } = accountStatusCodec.decode(object.status);
  const before = correctedTime(lastKeyListTime, at);
  const isNews =
    before === undefined ||
    request !== undefined ||
    !isDeepStrictEqual(listed, liveKeyIds) ||
    (unlistedKeyTime !== undefined && unlistedKeyTime >= before);
  return isNews ? (listTime ?? before) : before;
}

function readinessAfter(snapshot: AccountSnapshot, outcome: Outcome): Readiness | Waiting {
  if (outcome.kind === "Failed") return findingOn(snapshot.object) ?? outcome.readiness;
  // Also for a suspended object.
  if (isBeingDeleted(snapshot.object) && snapshot.users.length > 0) return inUse(snapshot);
  return outcome.kind === "Waiting" ? outcome : readinessOf(snapshot);
}

function stateAfter(
  snapshot: AccountSnapshot,
  outcome: Outcome,
  readiness: Readiness,
  at: ClockReading,
  before: AccountState,
): AccountState {
  if (outcome.kind === "Failed") return before;
  return {
    lastRead: lastReadAfter(snapshot, readiness, at) ?? before.lastRead,
    listTime: snapshot.listTime ?? before.listTime,
    created: snapshot.object.status?.saId === undefined ? before.created : undefined,
    unreadableResponse: snapshot.attempt && snapshot.unreadableResponse,
  };
}

function lastReadAfter(
  snapshot: AccountSnapshot,
  { state, reason }: Readiness,
  at: ClockReading,
): AccountRead | undefined {
  if (snapshot.lookTime === undefined) return undefined;
  const isHealthy = snapshot.account === undefined || state === "Ready" || isRevoking(reason);
  return {
    saId: snapshot.account?.saId,
    consoleURL: consoleURLOf(snapshot),
    generation: snapshot.object.metadata.generation ?? 0,
    startTime: snapshot.lookTime,
    nextTime: readTimeAfter(snapshot, isHealthy, at),
    keyRequests: snapshot.keyRequests,
    finding: findingOf(snapshot),
  };
}

/** The delay of the readiness, or the time until the next read. */
function requeueAfterMs(
  snapshot: AccountSnapshot,
  readiness: Readiness | Waiting,
  state: AccountState,
  { now }: ClockReading,
): number | undefined {
  if ("afterMs" in readiness) return readiness.afterMs;
  if (isBeingDeleted(snapshot.object) || state.lastRead === undefined) return undefined;
  const after = { ...snapshot, state };
  const lookTime = nextReadTime(after, now);
  const nextTime = Math.min(lookTime, nextListTime(after, now) ?? lookTime);
  return Math.max(SECOND, Math.round(nextTime - now));
}

function soonest(...delays: readonly (number | undefined)[]): number | undefined {
  const known = delays.filter((delay) => delay !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

const verbs = { Created: "Create", Imported: "Import", Recovered: "Recover" } as const;

function eventsOf({ became, object, account, listing }: AccountSnapshot) {
  if (became === undefined || account === undefined) return [];
  const note = `${noteOn(became, account)}${became === "Created" ? doubtAbout(listing) : ""}`;
  return [{ object, event: toEvent(became, verbs[became], note) }];
}

function noteOn(became: AccountOrigin, { saId, tpn }: KnownAccount): string {
  const account = `service account ${saId} (${tpn ?? "tpn unknown"})`;
  switch (became) {
    case "Created":
      return `Created ${account}.`;
    case "Imported":
      return `Imported ${account}.`;
    case "Recovered":
      return `Found ${account}, which an earlier attempt had created.`;
  }
}
