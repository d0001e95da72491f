import type { IamServiceAccount } from "../../iam/model.ts";
import type { ObjectKey } from "../../kube/resource.ts";
import { isOfAttempt, isOfObject } from "./marker.ts";

/** Which account an object stands for. */
export interface Wanted {
  readonly key: ObjectKey;
  readonly uid: string;
  readonly orgId: string;
  readonly projectId: string;
  readonly name: string;
}

export type Recovery =
  | { readonly kind: "Found"; readonly account: IamServiceAccount }
  | { readonly kind: "Nothing" }
  | { readonly kind: "Ambiguous"; readonly saIds: readonly string[] };

/**
 * What became of an attempt to create, as the console's listing shows it. A description that names the
 * attempt decides. Where the console does not echo descriptions, a single account of that name does, as
 * there was none before the attempt, unless another object claims it.
 */
export function recover(
  listing: readonly IamServiceAccount[],
  wanted: Wanted,
  attempt: string,
  isClaimed: (saId: string) => boolean,
): Recovery {
  const candidates = listing.filter((account) => isNamesake(account, wanted));
  const marked = candidates.filter(({ description = "" }) =>
    isOfAttempt(description, wanted.key, attempt),
  );
  if (marked.length > 0) return one(marked);
  const silent = candidates.filter(({ description = "" }) => description === "");
  if (silent.length === 0) return { kind: "Nothing" };
  const isSingle = candidates.length === 1 && !silent.some(({ saId }) => isClaimed(saId));
  return isSingle ? one(silent) : ambiguous(candidates);
}

export type Existing =
  | { readonly kind: "None" }
  /** Made for this very object by an attempt that its status has lost. */
  | { readonly kind: "Own"; readonly account: IamServiceAccount }
  | { readonly kind: "Foreign"; readonly saIds: readonly string[] };

/** Whether the console already has an account of that name before the first attempt. */
export function findExisting(listing: readonly IamServiceAccount[], wanted: Wanted): Existing {
  const candidates = listing.filter((account) => isNamesake(account, wanted));
  const [first] = candidates;
  if (first === undefined) return { kind: "None" };
  const own = candidates.filter(({ description = "" }) =>
    isOfObject(description, wanted.key, wanted.uid),
  );
  const [only] = own;
  return only !== undefined && own.length === 1
    ? { kind: "Own", account: only }
    : { kind: "Foreign", saIds: candidates.map(({ saId }) => saId) };
}

export type Forgotten =
  | { readonly kind: "Nothing" }
  | { readonly kind: "Own"; readonly account: IamServiceAccount }
  | { readonly kind: "Unclear"; readonly saIds: readonly string[] };

/**
 * The account of an object of which nothing is known any more, no attempt either. Only a description that names the
 * object proves it: an account without one may have been made by hand since.
 */
export function findForgotten(
  listing: readonly IamServiceAccount[],
  wanted: Wanted,
  isNamed: (saId: string) => boolean,
): Forgotten {
  const candidates = listing.filter((account) => isNamesake(account, wanted));
  const own = candidates.filter(({ description = "" }) =>
    isOfObject(description, wanted.key, wanted.uid),
  );
  const [only] = own;
  if (only !== undefined && own.length === 1) return { kind: "Own", account: only };
  const silent = candidates.filter(
    ({ saId, description = "" }) => description === "" && !isNamed(saId),
  );
  const saIds = [...own, ...silent].map(({ saId }) => saId);
  return saIds.length === 0 ? { kind: "Nothing" } : { kind: "Unclear", saIds };
}

function isNamesake(account: IamServiceAccount, wanted: Wanted): boolean {
  return (
    account.name === wanted.name &&
    (account.orgId ?? wanted.orgId) === wanted.orgId &&
    (account.projectId ?? wanted.projectId) === wanted.projectId
  );
}

function one(accounts: readonly IamServiceAccount[]): Recovery {
  const [account] = accounts;
  return account !== undefined && accounts.length === 1
    ? { kind: "Found", account }
    : ambiguous(accounts);
}

function ambiguous(accounts: readonly IamServiceAccount[]): Recovery {
  return { kind: "Ambiguous", saIds: accounts.map(({ saId }) => saId) };
}
