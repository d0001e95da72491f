/** The account and its PolicyBindings, as read from the stored objects. Pure. */

import { isUsable, ownsAccount } from "../../../accounts/ownership.ts";
import { isRevocationSubmitted } from "../../../accounts/revocation-proof.ts";
import { findCondition } from "../../../api/conditions.ts";
import type { Rights } from "../../../api/connection.ts";
import { annotations, FINALIZER } from "../../../api/meta.ts";
import { parseStoredSpec } from "../../../api/parse-spec.ts";
import { type PolicyBinding, policyBindingKind } from "../../../api/policy-binding.ts";
import {
  type ServiceAccount,
  type ServiceAccountSpec,
  serviceAccountKind,
} from "../../../api/service-account.ts";
import { blockedSince } from "../../../reconciler/rules/cleanup.ts";
import { requestToken } from "../../../reconciler/rules/request.ts";
import { nearText } from "../../../util/near-text.ts";
import { isBeingDeleted } from "../../../util/object-meta.ts";
import type { Instant } from "../../../util/time.ts";
import { type Ledger, readLedger } from "./ledger.ts";
import { common, listed, type PolicySet, without } from "./policy-set.ts";

/** Why the operator cannot do something; a person must change an object. */
export interface Problem {
  readonly reason: string;
  readonly message: string;
}

/** Why policies of a PolicyBinding are not bound, and what a person can do. */
export interface SpecProblem extends Problem {
  readonly advice: string;
}

export interface BoundAccount {
  readonly uid: string;
  readonly tpn: string;
  readonly orgId: string;
  /** Whether the operator created the account: then no policy was bound before the operator bound one. */
  readonly created: boolean;
  readonly foreignPolicies: "Keep" | "Remove";
  readonly accessRevoked: boolean;
  /** The other cluster that the account's description names. */
  readonly describedCluster: string | undefined;
  /** The bound policies, as the last finished sync left them. */
  readonly ledger: Ledger;
  /** Whether the console accepted an empty list since access was revoked, or a read showed that no policy is bound. */
  readonly revocationSubmitted: boolean;
  /** Policies that are unbound: they are no longer granted, or their PolicyBinding is gone. */
  readonly withdrawn: PolicySet;
}

/** What the operator may do for the account named by a set of PolicyBindings. */
export type AccountAvailability = UsableAccount | UnavailableAccount;

export interface UsableAccount {
  readonly kind: "Usable";
  readonly account: BoundAccount;
  /** Present if the operator must not bind anything for the account: it only unbinds withdrawn policies. */
  readonly restriction?: Restriction;
}

export interface Restriction extends UnavailableAccount {
  readonly withdrawal?: Withdrawal;
}

/** Policies that are unbound after the grace period, unless a grant matches the namespace again. */
export interface Withdrawal {
  readonly policyIds: PolicySet;
  readonly since: Instant;
  readonly until: Instant;
  /** Milliseconds until no clock contradicts that the grace period is over. */
  readonly endsInMs: number;
  readonly isOver: boolean;
}

export interface UnavailableAccount extends Problem {
  readonly kind: "Unavailable";
  /** Stalled if a person must act. */
  readonly state: "Reconciling" | "Stalled";
  /** Nothing can be bound any more: deleted PolicyBindings are released. */
  readonly endsAs?: "AccountMissing" | "AccountGone";
}

/**
 * The stage of a PolicyBinding's life. Only `Revoking` unbinds policies: the object is being deleted, still has the
 * operator's finalizer, and does not retain its policies (S20).
 */
export type Stage = "Live" | "Revoking" | "Releasing";

export interface BindingView {
  readonly uid: string;
  readonly generation: number;
  /** The policies of its spec that may be bound; none if the spec is invalid. */
  readonly policyIds: PolicySet;
  /** The policies of its spec that are not granted, or that the console refused. */
  readonly refused: PolicySet;
  /** Policies that this object has bound or was about to bind, according to its record. */
  readonly applied: PolicySet;
  readonly stage: Stage;
  /** Whether it has the operator's finalizer. */
  readonly hasFinalizer: boolean;
  /** When the cleanup of the deleted object was first reported as blocked. */
  readonly blockedSince: Instant | undefined;
  readonly suspended: boolean;
  /** Whether its spec and its deletion are ignored for now: the operator only plans, or the account is suspended. */
  readonly ignored: boolean;
  /** Whether the spec retains its policies after the deletion, but the grant does not allow that. */
  readonly retainRefused: boolean;
  /** Why the spec is not, or not wholly, carried out. */
  readonly problem: SpecProblem | undefined;
  readonly requestedAt: string | undefined;
  readonly handledAt: string | undefined;
}

/** What is known from a ServiceAccount alone, before its connection is resolved. */
export interface AccountView {
  readonly availability: AccountAvailability;
  /** The account named by the status: withdrawn policies are unbound even if the account is not available. */
  readonly named: BoundAccount | undefined;
  readonly connectionRef: ServiceAccountSpec["connectionRef"] | undefined;
}

export function toAccountView(account: ServiceAccount | undefined, name: string): AccountView {
  const unknown = { named: undefined, connectionRef: undefined };
  if (account === undefined) {
    const message = `ServiceAccount ${name} does not exist in this namespace.`;
    return { availability: { ...waiting(message), endsAs: "AccountMissing" }, ...unknown };
  }
  const parsed = parseStoredSpec(serviceAccountKind, account);
  if (!parsed.ok)
    return { availability: waiting(`The spec of ServiceAccount ${name} is invalid.`), ...unknown };
  const { spec } = parsed;
  const bound = toBound(account, spec);
  return {
    availability: toAvailability(account, spec, bound),
    named: ownsAccount(account) ? bound : undefined,
    connectionRef: spec.connectionRef,
  };
}

function toAvailability(
  account: ServiceAccount,
  spec: ServiceAccountSpec,
  bound: BoundAccount | undefined,
): AccountAvailability {
  const { name } = account.metadata;
  const { conditions, ownership, saId } = account.status ?? {};
  if (ownership === "Gone") {
    const message = `The console no longer has service account ${saId} of ServiceAccount ${name}.`;
    return { ...waiting(message), state: "Stalled", endsAs: "AccountGone" };
  }
  if (spec.suspend)
    return {
      kind: "Unavailable",
      state: "Stalled",
      reason: "ServiceAccountSuspended",
      message: `ServiceAccount ${name} is suspended: its list of policies is not changed.`,
    };
  if (isInCharge(account) && bound !== undefined) return { kind: "Usable", account: bound };
  const ready = findCondition(conditions, "Ready");
  const why = ready === undefined ? "" : ` (${ready.reason})`;
  const wait = waiting(`ServiceAccount ${name} is not ready${why}.`);
  return ownership === "NotFound" ? { ...wait, endsAs: "AccountGone" } : wait;
}

/** Whether the account is usable, or its deletion waits for the objects that use it. */
function isInCharge(account: ServiceAccount): boolean {
  const isDeleted = isBeingDeleted(account);
  return isUsable(account) || (isDeleted && ownsAccount(account));
}

function toBound(
  { metadata, status = {} }: ServiceAccount,
  spec: ServiceAccountSpec,
): BoundAccount | undefined {
  const { tpn, orgId, origin, bindings } = status;
  if (tpn === undefined || orgId === undefined) return undefined;
  return {
    uid: metadata.uid,
    tpn,
    orgId,
    created: origin === "Created",
    foreignPolicies: spec.foreignPolicies,
    accessRevoked: spec.access === "Revoked",
    describedCluster: status.describedCluster,
    ledger: readLedger(bindings),
    revocationSubmitted: isRevocationSubmitted(bindings),
    withdrawn: [],
  };
}

function waiting(message: string): UnavailableAccount {
  return { kind: "Unavailable", state: "Reconciling", reason: "WaitingForServiceAccount", message };
}

export type PolicyGrant = Pick<Rights, "policyIds" | "withdrawsPolicies">;

interface BindingContext {
  /** Policies bound by PolicyBindings, according to the account's ledger. */
  readonly recorded: PolicySet;
  /** `undefined` while the grant is unknown. */
  readonly grant: PolicyGrant | undefined;
  readonly mayRetain: boolean;
}

export function toBindingView(
  binding: PolicyBinding,
  { recorded, grant, mayRetain }: BindingContext,
): BindingView {
  const { metadata, status } = binding;
  const parsed = parseStoredSpec(policyBindingKind, binding);
  const declared = parsed.ok ? [...new Set(parsed.spec.policyIds)] : [];
  const refused = notIn(grant, declared);
  const suspended = parsed.ok && parsed.spec.suspend;
  const hasFinalizer = metadata.finalizers?.includes(FINALIZER) ?? false;
  // If the status is lost, the account's record replaces it; the spec alone never does (S11).
  const applied = status?.appliedPolicyIds ?? (hasFinalizer ? common(declared, recorded) : []);
  const retains = asksToRetain(binding) || suspended;
  return {
    uid: metadata.uid,
    generation: metadata.generation ?? 0,
    policyIds: without(declared, refused),
    refused,
    applied,
    stage: toStage(binding, hasFinalizer, retains && mayRetain),
    hasFinalizer,
    blockedSince: blockedSince(binding),
    suspended,
    ignored: false,
    retainRefused: retains && !mayRetain,
    problem: parsed.ok
      ? notGranted(refused, notDeclared(grant, declared))
      : { reason: "InvalidSpec", message: parsed.message, advice: "" },
    requestedAt: requestToken(metadata, annotations.reconcileRequestedAt),
    handledAt: status?.lastHandledReconcileAt,
  };
}

/** Reads the unparsed spec: `deletionPolicy: Retain` counts even if the rest of the spec is invalid. */
function asksToRetain({ spec }: PolicyBinding): boolean {
  return (spec as Partial<PolicyBinding["spec"]> | undefined)?.deletionPolicy === "Retain";
}

function toStage(binding: PolicyBinding, hasFinalizer: boolean, retains: boolean): Stage {
  if (!isBeingDeleted(binding)) return "Live";
  return !hasFinalizer || retains ? "Releasing" : "Revoking";
}

function notGranted(refused: PolicySet, grant: PolicyGrant | undefined): SpecProblem | undefined {
  if (refused.length === 0) return undefined;
  const policies = listed(refused);
  const fate =
    grant?.withdrawsPolicies === false
      ? "stays bound if it was bound before, until this object is deleted or its policyIds change"
      : "is unbound";
  return {
    reason: "PolicyNotGranted",
    message: `The connection does not grant this namespace ${refused.length === 1 ? "policy" : "the policies"} ${policies}.${meantBy(refused, grant)} A policy that is not granted ${fate}.`,
    advice: adviceOn(refused, grant),
  };
}

/** The grant without what the spec names. */
function notDeclared(grant: PolicyGrant | undefined, declared: PolicySet): PolicyGrant | undefined {
  return grant && { ...grant, policyIds: [...without(grant.policyIds, declared)] };
}

/** Names granted policies with similar IDs that the spec does not name yet. */
function meantBy(refused: PolicySet, grant: PolicyGrant | undefined): string {
  const near = refused.flatMap((id) => nearGranted(id, grant) ?? []);
  return near.length === 0 ? "" : ` Did you mean ${listed(near)}?`;
}

/** A misspelled ID is to be corrected; only the other IDs can be missing in the grant. */
function adviceOn(refused: PolicySet, grant: PolicyGrant | undefined): string {
  const misspelled = refused.filter((id) => nearGranted(id, grant) !== undefined);
  const missing = listed(without(refused, misspelled));
  return [
    misspelled.length > 0 && `Correct ${listed(misspelled)} in spec.policyIds.`,
    missing !== "" &&
      `Ask the administrator of the connection to add ${missing} to policyIds of a grant, or remove ${missing} from spec.policyIds.`,
  ]
    .filter((part) => part !== false)
    .join(" ");
}

function nearGranted(id: string, grant: PolicyGrant | undefined): string | undefined {
  return nearText(id, grant?.policyIds ?? []);
}

/** The policies that the grant does not name; none if the grant is unknown. */
export function notIn(grant: PolicyGrant | undefined, policyIds: PolicySet): PolicySet {
  return grant === undefined || grant.policyIds.includes("*")
    ? []
    : without(policyIds, grant.policyIds);
}
