/** Which policies a deletion unbinds, by the deletion policy and the rights of the namespace. Pure. */
import { operatorPolicies, recordedPolicies } from "../../../accounts/recorded-policies.ts";
import { WATCH_MS } from "../../../accounts/sync-watch.ts";
import { CLOCK_TOLERANCE_MS } from "../../../util/agreed-time.ts";
import { type Instant, parseInstant } from "../../../util/time.ts";
import type { AccountSnapshot } from "./snapshot.ts";

/** The spec's deletion policy. Default: Retain for an imported account, Revoke for a created account. */
export function policyOf(snapshot: AccountSnapshot): "Revoke" | "Retain" | "Delete" {
  return snapshot.spec.deletionPolicy ?? (isImported(snapshot) ? "Retain" : "Revoke");
}

/** Whether policies bound outside the operator stay bound. */
export function leavesOthers(snapshot: AccountSnapshot): boolean {
  return policyOf(snapshot) === "Retain" || !mayManageImported(snapshot);
}

/** Policies that a deletion must unbind if it leaves the others. */
export function toUnbind(snapshot: AccountSnapshot, now: Instant): readonly string[] {
  const late = lateSync(snapshot, now)?.policyIds ?? [];
  const { bindings } = snapshot.object.status ?? {};
  const kept = retainsPolicies(snapshot) ? recordedPolicies(bindings, "Declared", "Abandoned") : [];
  return [...new Set([...boundByOperator(snapshot), ...late])].filter((id) => !kept.includes(id));
}

/** Policies that the operator bound and that the deletion must unbind. */
export function boundByOperator(snapshot: AccountSnapshot): readonly string[] {
  if (retainsPolicies(snapshot)) return [];
  return operatorPolicies(snapshot.object.status?.bindings);
}

/** Whether the policy is Retain and the grant allows retaining policies. */
function retainsPolicies(snapshot: AccountSnapshot): boolean {
  const { connection, spec } = snapshot;
  const rights = connection.ok ? connection.access.grant : connection.grant;
  const mayRetain = rights?.retainPolicies ?? spec.connectionRef.kind === "Connection";
  return mayRetain && policyOf(snapshot) === "Retain";
}

/** If the namespace may no longer manage an imported account, only policies that the operator bound are unbound. */
export function mayManageImported(snapshot: AccountSnapshot): boolean {
  const { connection } = snapshot;
  if (!isImported(snapshot)) return true;
  return connection.ok && connection.access.grant.importServiceAccounts;
}

function isImported({ account, spec }: AccountSnapshot): boolean {
  return account === undefined ? spec.saId !== undefined : account.origin === "Imported";
}

/**
 * A call without a usable response that may still take effect. A time in the future is of a wrong clock: the start of the
 * deletion counts instead.
 */
export function lateSync(
  { object }: AccountSnapshot,
  now: Instant,
): { readonly policyIds: readonly string[]; readonly leftMs: number } | undefined {
  const { time, policyIds = [] } = object.status?.bindings?.unansweredSync ?? {};
  const givenUp = parseInstant(time);
  if (givenUp === undefined) return undefined;
  const since = [givenUp, parseInstant(object.metadata.deletionTimestamp)].find(
    (each) => each !== undefined && each <= now + CLOCK_TOLERANCE_MS,
  );
  const leftMs = since === undefined ? 0 : since + WATCH_MS - now;
  return leftMs > 0 ? { policyIds, leftMs } : undefined;
}
