/** Finds an object's own account among the console's accounts, after a lost response or a lost status. Pure. */
import type { IamServiceAccount } from "../../../iam/model.ts";
import { isOfAttempt, isOfObject } from "../../marker.ts";
import type { DesiredAccount } from "./desired-account.ts";
import type { CreationAttempt } from "./status.ts";

export type AttemptOutcome =
  | { readonly kind: "Found"; readonly account: IamServiceAccount }
  | { readonly kind: "Nothing" }
  | { readonly kind: "Ambiguous"; readonly saIds: readonly string[] };

/**
 * Outcome of an attempt to create, from the console's listing. A description that names the attempt decides. If the
 * console does not return descriptions, a single account with the name decides, because there was none before the
 * attempt, unless another object claims it. For a `described` attempt, only the description decides.
 */
export function explainAttempt(
  listing: readonly IamServiceAccount[],
  desired: DesiredAccount,
  { id, described }: Pick<CreationAttempt, "id" | "described">,
  isClaimed: (saId: string) => boolean,
): AttemptOutcome {
  const candidates = namesakesOf(listing, desired);
  const marked = candidates.filter(({ description = "" }) =>
    isOfAttempt(description, desired.key, id),
  );
  if (marked.length > 0) return one(marked);
  if (described === true) return { kind: "Nothing" };
  const silent = candidates.filter(({ description = "" }) => description === "");
  if (silent.length === 0) return { kind: "Nothing" };
  const isSingle = candidates.length === 1 && !silent.some(({ saId }) => isClaimed(saId));
  return isSingle ? one(silent) : ambiguous(candidates);
}

export type ExistingAccount =
  | { readonly kind: "None" }
  /** Created for this very object by an attempt that its status has lost. */
  | { readonly kind: "Own"; readonly account: IamServiceAccount }
  | { readonly kind: "Foreign"; readonly saIds: readonly string[] };

/** Whether the console already has an account with the name before the first attempt. */
export function findExisting(
  listing: readonly IamServiceAccount[],
  desired: DesiredAccount,
): ExistingAccount {
  const candidates = namesakesOf(listing, desired);
  const [first] = candidates;
  if (first === undefined) return { kind: "None" };
  const own = candidates.filter(({ description = "" }) =>
    isOfObject(description, desired.key, desired.uid),
  );
  const [only] = own;
  return only !== undefined && own.length === 1
    ? { kind: "Own", account: only }
    : { kind: "Foreign", saIds: candidates.map(({ saId }) => saId) };
}

export type LostAmongListed =
  | { readonly kind: "Nothing" }
  | { readonly kind: "Own"; readonly account: IamServiceAccount }
  | { readonly kind: "Unclear"; readonly saIds: readonly string[] };

/**
 * The account of an object whose status names neither an account nor an attempt. Only a description that names the
 * object is proof: an account without a description may have been created manually since.
 */
export function findLost(
  listing: readonly IamServiceAccount[],
  desired: DesiredAccount,
  isNamed: (saId: string) => boolean,
): LostAmongListed {
  const candidates = namesakesOf(listing, desired);
  const own = candidates.filter(({ description = "" }) =>
    isOfObject(description, desired.key, desired.uid),
  );
  const [only] = own;
  if (only !== undefined && own.length === 1) return { kind: "Own", account: only };
  const silent = candidates.filter(
    ({ saId, description = "" }) => description === "" && !isNamed(saId),
  );
  const saIds = [...own, ...silent].map(({ saId }) => saId);
  return saIds.length === 0 ? { kind: "Nothing" } : { kind: "Unclear", saIds };
}

/** Accounts with the name, organization and project that the object declares. */
export function namesakesOf(
  listing: readonly IamServiceAccount[],
  desired: DesiredAccount,
): readonly IamServiceAccount[] {
  return listing.filter(
    (account) =>
      account.name === desired.name &&
      (account.orgId ?? desired.orgId) === desired.orgId &&
      (account.projectId ?? desired.projectId) === desired.projectId,
  );
}

function one(accounts: readonly IamServiceAccount[]): AttemptOutcome {
  const [account] = accounts;
  return account !== undefined && accounts.length === 1
    ? { kind: "Found", account }
    : ambiguous(accounts);
}

function ambiguous(accounts: readonly IamServiceAccount[]): AttemptOutcome {
  return { kind: "Ambiguous", saIds: accounts.map(({ saId }) => saId) };
}
