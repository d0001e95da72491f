/**
 * What the operator may do for an account: everything, nothing, or only unbind withdrawn policies. Neither suspension
 * nor a waiting deletion nor a lost grant prevents a withdrawal. Pure.
 */
import { operatorPolicies } from "../../../accounts/recorded-policies.ts";
import type { ServiceAccount } from "../../../api/service-account.ts";
import { type AgreedTime, certainTime, correctedTime, msUntil } from "../../../util/agreed-time.ts";
import { parseInstant } from "../../../util/time.ts";
import { type PolicySet, union } from "./policy-set.ts";
import { unrevokedPolicies } from "./release.ts";
import type { AccountBindingsState } from "./state.ts";
import { stillWatched } from "./unanswered-sync.ts";
import {
  type AccountAvailability,
  type AccountView,
  type BindingView,
  type BoundAccount,
  notIn,
  type PolicyGrant,
  type Restriction,
  type UnavailableAccount,
  type Withdrawal,
} from "./views.ts";

export interface Access {
  readonly grant: PolicyGrant | undefined;
  readonly ungranted?: { readonly gracePeriodMs: number | undefined };
  readonly obstacle?: UnavailableAccount;
  readonly refusal?: UnavailableAccount;
}

interface Situation extends AgreedTime {
  readonly account: ServiceAccount | undefined;
  readonly bindings: readonly BindingView[];
  readonly state: AccountBindingsState | undefined;
}

export function toAvailability(
  { availability, named }: AccountView,
  { obstacle, refusal, grant, ungranted }: Access,
  situation: Situation,
): AccountAvailability {
  const { bindings } = situation;
  if (availability.kind === "Usable") {
    if (obstacle !== undefined) return obstacle;
    const { account } = availability;
    const ungranted = withdrawnOf(account, grant, bindings);
    const withdrawn = union(ungranted, unrevokedPolicies(account, bindings));
    if (refusal === undefined) return { kind: "Usable", account: { ...account, withdrawn } };
  }
  const why = availability.kind === "Usable" ? refusal : availability;
  if (why === undefined || named === undefined || grant === undefined) return why ?? availability;
  const withdrawal = ungranted && withdrawalOf(named, ungranted, situation);
  const isKept = ungranted !== undefined && withdrawal?.isOver !== true;
  const withdrawn = isKept ? [] : withdrawnOf(named, grant, bindings);
  const account: BoundAccount = { ...named, foreignPolicies: "Keep", withdrawn };
  const base = refusal ?? why;
  const restriction: Restriction = { ...base, ...(withdrawal && { withdrawal }) };
  if (isUrgent(account, restriction, situation)) return { kind: "Usable", account, restriction };
  return ungranted === undefined ? why : base;
}

/** Policies bound by the operator and no longer granted. */
function withdrawnOf(
  account: BoundAccount,
  grant: PolicyGrant | undefined,
  bindings: readonly BindingView[],
): PolicySet {
  return grant?.withdrawsPolicies === true ? notIn(grant, boundByUs(account, bindings)) : [];
}

function boundByUs({ ledger }: BoundAccount, bindings: readonly BindingView[]): PolicySet {
  return union(operatorPolicies(ledger), ...bindings.map(({ applied }) => applied));
}

/**
 * The grace period starts when the operator first finds no grant; `ungrantedTime` in the account's status records it.
 */
function withdrawalOf(
  named: BoundAccount,
  { gracePeriodMs }: NonNullable<Access["ungranted"]>,
  { account, bindings, ...at }: Situation,
): Withdrawal | undefined {
  const policyIds = boundByUs(named, bindings);
  if (gracePeriodMs === undefined || policyIds.length === 0) return undefined;
  const stored = parseInstant(account?.status?.bindings?.ungrantedTime);
  const since = correctedTime(stored, at) ?? at.now;
  const until = since + gracePeriodMs;
  const isOver = until <= certainTime(at);
  return { policyIds, since, until, endsInMs: msUntil(until, at), isOver };
}

/** Whether policies must be unbound now or soon even though the account is not available. */
function isUrgent(
  account: BoundAccount,
  { reason, withdrawal }: Restriction,
  { bindings, state, now }: Situation,
): boolean {
  return (
    account.accessRevoked ||
    account.withdrawn.length > 0 ||
    withdrawal !== undefined ||
    stillWatched(state?.unanswered, now) !== undefined ||
    (reason === "NotGranted" &&
      bindings.some(({ stage, applied }) => stage === "Revoking" && applied.length > 0))
  );
}
