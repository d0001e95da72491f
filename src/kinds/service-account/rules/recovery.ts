/** Finds an object's own account among the console's accounts, after a lost response or a lost status. Pure. */

import type { IamServiceAccount } from "../../../console/model.ts";
import { isOfAttempt, isOfObject, isOfOtherCluster, markerOf } from "../../../resources/marker.ts";
import { isSpelledLike } from "../../../util/spelling.ts";
import type { DesiredAccount } from "./desired-account.ts";
import type { CreationAttempt } from "./status.ts";

type Search =
  | { readonly kind: "Found"; readonly account: IamServiceAccount }
  | { readonly kind: "Nothing" }
  /** Accounts that may be the object's own, and may belong to another owner. */
  | { readonly kind: "Unclear"; readonly saIds: readonly string[] };

type Accounts = readonly IamServiceAccount[];
type Saying = (account: IamServiceAccount) => boolean;

/** Whether the console does not show who created the account. */
const isSilent: Saying = ({ description = "" }) => description === "";

/**
 * Outcome of an attempt to create, from the console's listing. A description that names the attempt decides. If the
 * console does not return descriptions, a single account with the name decides, because there was none before the
 * attempt, unless another object claims it. For a `described` attempt, only the description decides.
 */
export function explainAttempt(
  listing: Accounts,
  desired: DesiredAccount,
  { id, described }: Pick<CreationAttempt, "id" | "described">,
  isClaimed: (saId: string) => boolean,
): Search {
  const candidates = accountsWithName(listing, desired);
  const marked = candidates.filter(({ description = "" }) =>
    isOfAttempt(description, desired.key, id),
  );
  if (marked.length > 0) return judge(marked, marked);
  if (described === true || !candidates.some(isSilent)) return { kind: "Nothing" };
  const isTaken = candidates.some(({ saId }) => isClaimed(saId));
  return judge(isTaken ? [] : candidates, candidates);
}

/**
 * Whether the console already has an account with the name before the first attempt: only an account that an attempt
 * of this very object created is its own.
 */
export function findExisting(listing: Accounts, desired: DesiredAccount): Search {
  const candidates = accountsWithName(listing, desired);
  return judge(candidates.filter(isMarkedBy(desired)), candidates);
}

/**
 * The account of an object whose status names neither an account nor an attempt. Only a description that names the
 * object is proof: an account without a description may have been created manually since.
 */
export function findLost(
  listing: Accounts,
  desired: DesiredAccount,
  isNamed: (saId: string) => boolean,
): Search {
  const candidates = accountsWithName(listing, desired);
  const own = candidates.filter(isMarkedBy(desired));
  const silent = candidates.filter((account) => isSilent(account) && !isNamed(account.saId));
  return judge(own, [...own, ...silent]);
}

/**
 * Accounts with the name, organization and project that the object declares. A console may have stored the name in
 * another spelling: then the object's own marker in the description names the account, or nothing does.
 */
export function accountsWithName(listing: Accounts, desired: DesiredAccount): Accounts {
  const isNamed: Saying = (account) =>
    account.name === desired.name ||
    (isSilent(account) && isSpelledLike(account.name ?? "", desired.name));
  return listing.filter(
    (account) => (isNamed(account) || isMarkedBy(desired)(account)) && isInPlace(account, desired),
  );
}

/** Whether the account is in the organization and project that the object declares, as far as the console shows. */
export function isInPlace(
  account: IamServiceAccount,
  { orgId, projectId }: Pick<DesiredAccount, "orgId" | "projectId">,
): boolean {
  return (account.orgId ?? orgId) === orgId && (account.projectId ?? projectId) === projectId;
}

function isMarkedBy({ key, uid, clusterName }: DesiredAccount): Saying {
  return ({ description = "" }) =>
    isOfObject(description, key, uid) && !isOfOtherCluster(markerOf(description), clusterName);
}

/** A single account of its own is the object's; otherwise, all accounts that may be. */
function judge(own: Accounts, possible: Accounts): Search {
  const [account, another] = own;
  if (account !== undefined && another === undefined) return { kind: "Found", account };
  const saIds = possible.map(({ saId }) => saId);
  return saIds.length === 0 ? { kind: "Nothing" } : { kind: "Unclear", saIds };
}
