/** Whether an account is created for an object that has none, and which. Pure. */
import { clientIdentity } from "../../../connections/client-settings.ts";
import type { IamServiceAccount, NewServiceAccount } from "../../../console/model.ts";
import type { Waiting } from "../../../reconciler/rules/outcome.ts";
import {
  describeStop,
  isStopped,
  UNREADABLE_RESPONSE,
} from "../../../reconciler/rules/unreadable-response.ts";
import { stalled } from "../../../reconciler/rules/waiting.ts";
import { describeAccount, isOfOtherCluster, markerOf } from "../../../resources/marker.ts";
import { truncateList } from "../../../util/truncate-list.ts";
import { type FoundAccount, nameAll, ownAccount, RECHECK_MS } from "./attempt.ts";
import { desiredAccount } from "./desired-account.ts";
import { tooManyCreated } from "./preconditions.ts";
import { findExisting } from "./recovery.ts";
import type { AccountListing, AccountSnapshot, Listed, WithAttempt } from "./snapshot.ts";

type CreationDecision =
  | FoundAccount
  | Waiting
  /** The open attempt has created nothing, and its name belongs to another account. */
  | { readonly kind: "CloseAttempt" }
  | { readonly kind: "Create" };

/** From a list of the console's accounts; for an object without an account. An open attempt has created nothing. */
export function decideCreation(snapshot: Listed): CreationDecision {
  const { listing, attempt } = snapshot;
  if (!listing.ok && listing.isTooLarge === true) return listTooLarge();
  if (!listing.ok && isLimited(snapshot)) return listUnreadable();
  const desired = desiredAccount(snapshot);
  // Without a listing, the operator cannot see an earlier account; the creation itself does not depend on the listing.
  const accounts = listing.ok ? listing.accounts : [];
  const existing = findExisting(accounts, desired);
  switch (existing.kind) {
    case "Found":
      return ownAccount(existing.account, "Recovered", snapshot);
    case "Unclear":
      return attempt === undefined
        ? accountExists(
            snapshot,
            desired.name,
            accounts.filter(({ saId }) => existing.saIds.includes(saId)),
          )
        : { kind: "CloseAttempt" };
    case "Nothing":
      return tooManyCreated(snapshot, accounts) ?? { kind: "Create" };
  }
}

/** What is not known about the name of a new account. */
export function doubtAbout(listing: AccountListing | undefined): string {
  return listing?.ok === false
    ? " The console's list of accounts cannot be read whole, so another account may have this name."
    : "";
}

/** The account that the attempt creates. */
export function newAccount(snapshot: WithAttempt): NewServiceAccount {
  const { key, orgId, projectId, name } = desiredAccount(snapshot);
  const { spec, attempt, clusterName } = snapshot;
  const description = describeAccount(spec.description, key, attempt.id, clusterName);
  return { orgId, projectId, name, description };
}

/** Another account could be unknown to the operator, too. A later list may still show the account of the attempt. */
export function stopped({
  unreadableResponse,
  object,
  connection,
}: AccountSnapshot): Waiting | undefined {
  if (unreadableResponse === undefined || !connection.ok) return undefined;
  if (!isStopped(unreadableResponse, object, clientIdentity(connection.access.spec)))
    return undefined;
  const message = describeStop(unreadableResponse, " The console lists no account of this object.");
  return stalled(UNREADABLE_RESPONSE, message, RECHECK_MS);
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
    `The console already has an account named ${name} (${nameAll(accounts.map(({ saId }) => saId))}).${named}${advice} this ServiceAccount and create it again: with spec.saId to import the account that exists, unless another ServiceAccount owns it, or with a different spec.name.${permission}`,
    RECHECK_MS,
  );
}
