/** Reads accounts from the console. */

import { lookUpAccount } from "../../../accounts/look-up.ts";
import { connectionKey } from "../../../connections/connection-key.ts";
import type { IamReader } from "../../../console/client/reader.ts";
import { IamError, type IamErrorCode, isIamError } from "../../../console/errors.ts";
import { keyOf } from "../../../kube/resource.ts";
import { accessToRevoke } from "../../../reconciler/context.ts";
import { defineEffect } from "../../../reconciler/effects.ts";
import { readOtherClaims, refOf } from "../claims.ts";
import { listedObjects } from "../listed-objects.ts";
import type { MarkedAccounts } from "../marked-accounts.ts";
import { readApiKeysAgain, readMarked } from "../observe.ts";
import { accountAfter } from "../rules/account.ts";
import { desiredAccount } from "../rules/desired-account.ts";
import { accountsWithName } from "../rules/recovery.ts";
import type {
  AccountEffects,
  AccountKind,
  AccountListing,
  AccountReading,
  AccountSnapshot,
  Listed,
} from "../rules/snapshot.ts";

/** What a list shows. */
type Accounts = Required<
  Pick<Listed, "listing" | "otherClaims" | "markedAccounts" | "namedAccounts" | "listTime">
>;

export function defineLists(marked: MarkedAccounts) {
  const list = defineRead<void, Accounts>("ListAccounts", (_, snapshot, run) =>
    readAccounts(snapshot, run, marked),
  );
  const audit = defineRead<void, Partial<Accounts>>("AuditAccounts", (_, snapshot, run) =>
    readIfDue(snapshot, run, marked),
  );
  return { listAccounts: list.read, tryListAccounts: list.tryRead, auditAccounts: audit.read };
}

/** Calls listServiceAccounts, and reads the claims of other objects on accounts that may belong to this object. */
async function readAccounts(
  snapshot: AccountSnapshot,
  run: AccountReading,
  marked: MarkedAccounts,
): Promise<Accounts> {
  const listTime = run.clock.now();
  const listing = await readListing(run.console(sessionOf(snapshot)), run.signal);
  const candidates = accountsWithName(listing.ok ? listing.accounts : [], desiredAccount(snapshot));
  const saIds = candidates.map(({ saId }) => saId);
  const otherClaims = await readOtherClaims(saIds, snapshot.object, run);
  const connection = connectionOf(snapshot);
  if (!listing.ok) marked.lists.noteFailedAudit(connection, listTime);
  if (listing.ok) {
    marked.lists.noteList(connection, listTime);
    const objects = listedObjects(connection, snapshot.connection, run);
    marked.note(connection, listing.accounts, objects);
  }
  return { listing, otherClaims, listTime, ...readMarked(snapshot.object, marked, run.caches) };
}

/**
 * Lists all accounts, unless the run of another object has just listed them. A console error does not fail the run of
 * this object, which did not request the list.
 */
async function readIfDue(
  snapshot: AccountSnapshot,
  run: AccountReading,
  marked: MarkedAccounts,
): Promise<Partial<Accounts>> {
  const connection = connectionOf(snapshot);
  const isRequested = snapshot.request !== undefined;
  if (!marked.lists.beginAudit(connection, run.clock.now(), isRequested)) return {};
  try {
    return await readAccounts(snapshot, run, marked);
  } catch (error) {
    if (!isIamError(error)) throw error;
    marked.lists.noteFailedAudit(connection, run.clock.now());
    run.log.info({ connection, err: error }, "could not list the accounts of a connection");
    return {};
  }
}

/** Calls getServiceAccount. */
export const { read: getAccount, tryRead: tryGetAccount } = defineRead(
  "GetAccount",
  async ({ saId }: { readonly saId: string }, snapshot, run) => {
    const lookTime = run.clock.now();
    const detail = await lookUpAccount(run.console(sessionOf(snapshot)), saId, run.signal);
    const answer = { detail };
    const account = accountAfter(snapshot, answer);
    return { answer, account, lookTime, ...(await readApiKeysAgain(snapshot.object, run)) };
  },
);

/** A read that adds facts to the snapshot, also of a suspended object; `tryRead` is for a deletion. */
function defineRead<Input, Facts extends Partial<AccountSnapshot>>(
  kind: string,
  read: (input: Input, snapshot: AccountSnapshot, run: AccountReading) => Promise<Facts>,
) {
  const define = <Answer>(perform: (...given: Parameters<typeof read>) => Promise<Answer>) =>
    defineEffect<AccountKind, AccountSnapshot, Input, Answer>({
      kind,
      whileSuspended: true,
      read: async (...given) => ({ answer: await perform(...given) }),
    });
  const effect = define(read);
  const tolerant = define((...given) => answerOf(() => read(...given)));
  return {
    *read<S extends AccountSnapshot>(snapshot: S, input: Input): AccountEffects<S & Facts> {
      return { ...snapshot, ...(yield* effect(snapshot, input)) };
    },
    *tryRead<S extends AccountSnapshot>(
      snapshot: S,
      input: Input,
    ): AccountEffects<(S & Facts) | IamError> {
      const facts = yield* tolerant(snapshot, input);
      return facts instanceof IamError ? facts : { ...snapshot, ...facts };
    },
  };
}

/** For a deletion, an error of the console is an answer: the deletion must finish even if the console is down (L6). */
export async function answerOf<Answer>(call: () => Promise<Answer>): Promise<Answer | IamError> {
  try {
    return await call();
  } catch (error) {
    if (isIamError(error)) return error;
    throw error;
  }
}

/** Identifies the connection, like in `MarkedAccounts`. */
export function connectionOf({ object }: AccountSnapshot): string {
  return connectionKey(refOf(object), keyOf(object).namespace);
}

/** The console session. Call only from effects: a run yields them only if the connection is usable. */
export function sessionOf({ connection }: AccountSnapshot): number {
  const access = accessToRevoke(connection);
  if (access === undefined) throw new Error("an effect needs a connection that can be used");
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
