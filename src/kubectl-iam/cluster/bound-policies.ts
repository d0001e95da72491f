/** What the status of an account shows of the policies that are bound in the console. Pure. */

import { recordedPolicies } from "../../accounts/recorded-policies.ts";
import { findCondition } from "../../api/conditions.ts";
import type { PolicyBinding } from "../../api/policy-binding.ts";
import { isFailedCall } from "../../api/reasons/failed-calls.ts";
import { isRevoking } from "../../api/revoking.ts";
import type { PolicyState, ServiceAccount } from "../../api/service-account.ts";
import { listed } from "./listed.ts";

/**
 * The policies that the status shows as bound; with states, only the policies in one of the states. Nothing is bound to
 * an account that the console no longer has.
 */
export function boundOf(
  account: ServiceAccount,
  ...states: readonly PolicyState[]
): readonly string[] {
  return isGone(account) ? [] : lastShown(account, ...states);
}

/** The same; of an account that the console no longer has, what was bound to it. */
export function lastShown(
  { status }: ServiceAccount,
  ...states: readonly PolicyState[]
): readonly string[] {
  const policies = status?.bindings?.policies?.filter(({ missing }) => missing !== true) ?? [];
  return recordedPolicies({ policies }, ...states);
}

/** Whether there is no account yet: none was created, and the spec names none to import. */
export function isAbsent({ spec, status }: ServiceAccount): boolean {
  return spec?.saId === undefined && status?.saId === undefined;
}

/** Whether the status shows every policy that was bound at the last read. */
export function isReadable(account: ServiceAccount): boolean {
  const { policyCount, unreadable } = account.status?.bindings ?? {};
  return isAbsent(account) || (policyCount !== undefined && unreadable !== true);
}

/** Why the status does not show every bound policy. */
export function notReadText(account: ServiceAccount): string {
  if (isGone(account)) return GONE;
  return account.status?.bindings?.unreadable === true
    ? "the console's answer about the bound policies cannot be read"
    : "what else is bound in the console has not been read";
}

/** Whether the operator reads the bound policies: the account is ready, and no call for its PolicyBindings has failed. */
export function isCurrent({ status }: ServiceAccount, bindings: readonly PolicyBinding[]): boolean {
  const isRead = ({ status }: PolicyBinding) =>
    !isFailedCall(findCondition(status?.conditions, "Ready")?.reason ?? "");
  const { status: ready, reason = "" } = findCondition(status?.conditions, "Ready") ?? {};
  return (ready !== "False" || isRevoking(reason)) && bindings.every(isRead);
}

/** Whether the console's last answer showed that the account was deleted in the console. */
export function isGone({ status }: ServiceAccount): boolean {
  return status?.ownership === "Gone";
}

const GONE = "the console no longer has the account, as last read";

/** The account's ID in the console, for a preview. */
export function accountText(account: ServiceAccount): string {
  const { spec, status } = account;
  const { saId } = status ?? {};
  if (saId === undefined)
    return spec?.saId === undefined ? "not created yet" : `${spec.saId}, not imported`;
  return isGone(account) ? `${saId}: ${GONE}` : saId;
}

/** The policies that the status shows as bound, for a preview. */
export function boundText(account: ServiceAccount): string {
  if (isGone(account)) return `none: ${GONE}`;
  const bound = listed(boundOf(account));
  if (isAbsent(account)) return "none";
  if (isReadable(account)) return `${bound || "none"}, as last read`;
  return [bound, notReadText(account)].filter((part) => part !== "").join("; ");
}

/** What the status of its account shows of the policies that a PolicyBinding declares. */
export function declaredText(
  { spec, status }: PolicyBinding,
  account: ServiceAccount | undefined,
): string {
  if (account === undefined) return `declares ${spec.policyIds.join(", ")}`;
  const recorded = new Set(boundOf(account));
  const bound = spec.policyIds.filter((policyId) => recorded.has(policyId)).join(", ");
  const left = spec.policyIds.filter((policyId) => !recorded.has(policyId)).join(", ");
  const kept = (status?.appliedPolicyIds ?? [])
    .filter((policyId) => recorded.has(policyId) && !spec.policyIds.includes(policyId))
    .join(", ");
  const isKnown = isGone(account) || isReadable(account);
  return [
    bound,
    left && isKnown && `not bound: ${left}`,
    kept && `still bound: ${kept}`,
    !isKnown && notReadText(account),
  ]
    .filter((part) => part !== "" && part !== false)
    .join("; ");
}
