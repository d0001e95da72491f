/** Reads accounts from the console. */

import { lookUpAccount } from "../../../accounts/look-up.ts";
import { connectionKey } from "../../../connections/connection-key.ts";
import type { IamReader } from "../../../console/client/reader.ts";
import { type IamErrorCode, isIamError } from "../../../console/errors.ts";
import { keyOf } from "../../../kube/resource.ts";
import { accessToRevoke } from "../../../reconciler/context.ts";
import { readOtherClaims, refOf } from "../claims.ts";
import { listedObjects } from "../listed-objects.ts";
import type { MarkedAccounts } from "../marked-accounts.ts";
import { readMarked } from "../observe.ts";
import { judgeAnswer } from "../rules/account.ts";
import { desiredAccount } from "../rules/desired-account.ts";
import { accountsWithName } from "../rules/recovery.ts";
import type {
  AccountListing,
  AccountProgress,
  AccountReading,
  AccountSnapshot,
} from "../rules/snapshot.ts";

/** Calls listServiceAccounts, and reads the claims of other objects on accounts that may belong to this object. */
export async function listAccounts(
  { snapshot, done }: AccountProgress,
  run: AccountReading,
  marked: MarkedAccounts,
): Promise<AccountProgress> {
  const listTime = run.clock.now();
  const listing = await readListing(run.console(sessionOf(snapshot)), run.signal);
  const candidates = accountsWithName(listing.ok ? listing.accounts : [], desiredAccount(snapshot));
  const saIds = candidates.map(({ saId }) => saId);
  const otherClaims = await readOtherClaims(saIds, snapshot.object, run);
  const { object } = snapshot;
  const connection = connectionOf(snapshot);
  if (!listing.ok) marked.lists.noteFailedAudit(connection, listTime);
  if (listing.ok) {
    marked.lists.noteList(connection, listTime);
    const objects = listedObjects(connection, snapshot.connection, run);
    marked.note(connection, listing.accounts, objects);
  }
  const { markedAccounts, namedAccounts } = readMarked(object, marked, run.caches);
  return {
    snapshot: { ...snapshot, listing, otherClaims, markedAccounts, namedAccounts },
    done: { ...done, listTime },
  };
}

/**
 * Makes the list that is due for all objects of the connection. A console error does not fail the run of this object,
 * which did not request the list.
 */
export async function auditAccounts(
  progress: AccountProgress,
  run: AccountReading,
  marked: MarkedAccounts,
): Promise<AccountProgress> {
  const { snapshot, done } = progress;
  const audited = { snapshot, done: { ...done, audited: true } };
  const connection = connectionOf(snapshot);
  const isRequested = snapshot.request !== undefined;
  if (!marked.lists.beginAudit(connection, run.clock.now(), isRequested)) return audited;
  try {
    return await listAccounts(audited, run, marked);
  } catch (error) {
    if (!isIamError(error)) throw error;
    marked.lists.noteFailedAudit(connection, run.clock.now());
    run.log.info({ connection, err: error }, "could not list the accounts of a connection");
    return audited;
  }
}

/** Calls getServiceAccount. The response replaces the known account, unless it describes a different account. */
export async function getAccount(
  saId: string,
  { snapshot, done }: AccountProgress,
  { clock, console, signal }: AccountReading,
): Promise<AccountProgress> {
  const lookTime = clock.now();
  const detail = await lookUpAccount(console(sessionOf(snapshot)), saId, signal);
  const answered = { ...snapshot, answer: { detail } };
  const account = snapshot.account && (judgeAnswer(answered)?.account ?? snapshot.account);
  return { snapshot: { ...answered, account }, done: { ...done, lookTime } };
}

/** Identifies the connection, like in `MarkedAccounts`. */
export function connectionOf({ object }: AccountSnapshot): string {
  return connectionKey(refOf(object), keyOf(object).namespace);
}

/** The console session. Call only from steps: the rules return actions only if the connection is usable. */
export function sessionOf({ connection }: AccountSnapshot): number {
  const access = accessToRevoke(connection);
  if (access === undefined) throw new Error("a step needs a connection that can be used");
  return access.session;
}

const UNUSABLE: ReadonlySet<IamErrorCode> = new Set([
  "MalformedResponse",
  "NotFound",
  "PermissionDenied",
]);

/** A console that cannot list its accounts is a finding; a console that is down is an error. */
async function readListing(
  console: Pick<IamReader, "listServiceAccounts">,
  signal: AbortSignal,
): Promise<AccountListing> {
  try {
    return { ok: true, accounts: await console.listServiceAccounts(undefined, signal) };
  } catch (error) {
    if (!isIamError(error) || !UNUSABLE.has(error.code)) throw error;
    return { ok: false, code: error.code, isTooLarge: error.isTooLarge };
  }
}
