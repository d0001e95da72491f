/** What stored objects say about an account and its PolicyBindings. Pure. */
import { findCondition } from "../../../api/conditions.ts";
import type { Rights } from "../../../api/connection.ts";
import { annotations, FINALIZER } from "../../../api/meta.ts";
import { parseSpec } from "../../../api/parse-spec.ts";
import { type PolicyBinding, policyBindingKind } from "../../../api/policy-binding.ts";
import {
  type ServiceAccount,
  type ServiceAccountSpec,
  serviceAccountKind,
} from "../../../api/service-account.ts";
import type { Instant } from "../../../util/time.ts";
import { accountStanding, type Standing } from "../../account-standing.ts";
import { requestToken } from "../../frame/request-token.ts";
import { common, listed, type PolicySet, without } from "./policy-set.ts";

/** Why something cannot be done; only a change by a person helps. */
export interface Problem {
  readonly reason: string;
  readonly message: string;
}

/** What `status.bindings` of a ServiceAccount says: how the last finished sync left the console. */
export interface BindingsRecord {
  /** `undefined` where no sync has finished yet, or the record is lost. */
  readonly ours: PolicySet | undefined;
  readonly foreign: PolicySet;
  /** Of the foreign ones, what a PolicyBinding has left bound. */
  readonly left: PolicySet;
}

export interface BoundAccount {
  readonly uid: string;
  readonly tpn: string;
  readonly orgId: string;
  /** Created by the operator, so that nobody else can have bound anything before it did. */
  readonly created: boolean;
  readonly foreignPolicies: "Keep" | "Remove";
  readonly accessRevoked: boolean;
  readonly record: BindingsRecord;
  /** What the operator has bound and the grants do not have any more: it is unbound. */
  readonly withdrawn: PolicySet;
}

/** What may be done for the account that a set of PolicyBindings names. */
export type AccountAvailability = UsableAccount | UnavailableAccount;

export interface UsableAccount {
  readonly kind: "Usable";
  readonly account: BoundAccount;
  /** Present if nothing may be bound for the account: only what was withdrawn is taken away. */
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
  readonly isOver: boolean;
}

export interface UnavailableAccount extends Problem {
  readonly kind: "Unavailable";
  /** Stalled where a person has to act. */
  readonly state: "Reconciling" | "Stalled";
  /** There is nothing to revoke, or somebody else does it: deleted PolicyBindings may go. */
  readonly endsAs?: "AccountMissing" | "AccountDeleting" | "AccountGone";
}

/**
 * How far a PolicyBinding is in its life. Only `Revoking` takes policies away: it is being deleted, still
 * carries our finalizer, and asks for it (S20).
 */
export type Stage = "Live" | "Revoking" | "Releasing";

export interface BindingView {
  readonly uid: string;
  readonly generation: number;
  readonly policyIds: PolicySet;
  /** What this object has bound, or was about to bind, as far as it is recorded. */
  readonly applied: PolicySet;
  readonly stage: Stage;
  /** Carries our finalizer. */
  readonly hasFinalizer: boolean;
  readonly deletedAt: string | undefined;
  readonly suspended: boolean;
  /** Whether its spec and its deletion do not count now: only planned for, or its account is suspended. */
  readonly held: boolean;
  /** Whether its policies are to stay bound after its deletion, which the grant does not allow. */
  readonly retainRefused: boolean;
  readonly problem: Problem | undefined;
  readonly requestedAt: string | undefined;
  readonly handledAt: string | undefined;
}

/** What a ServiceAccount says about itself, before its connection is looked at. */
export interface AccountView {
  readonly availability: AccountAvailability;
  /** The account as the status names it, for what is withdrawn even if the account is not available. */
  readonly named: BoundAccount | undefined;
  readonly connectionRef: ServiceAccountSpec["connectionRef"] | undefined;
}

export function toAccountView(account: ServiceAccount | undefined, name: string): AccountView {
  const unknown = { named: undefined, connectionRef: undefined };
  if (account === undefined) {
    const message = `ServiceAccount ${name} does not exist in this namespace.`;
    return { availability: { ...waiting(message), endsAs: "AccountMissing" }, ...unknown };
  }
  const parsed = parseSpec(serviceAccountKind, account);
  if (!parsed.ok)
    return { availability: waiting(`The spec of ServiceAccount ${name} is invalid.`), ...unknown };
  const { spec } = parsed;
  const bound = toBound(account, spec);
  const standing = accountStanding(account);
  return {
    availability: toAvailability(account, spec, bound, standing),
    named: standing === "InCharge" || standing === "NotReady" ? bound : undefined,
    connectionRef: spec.connectionRef,
  };
}

function toAvailability(
  account: ServiceAccount,
  spec: ServiceAccountSpec,
  bound: BoundAccount | undefined,
  standing: Standing,
): AccountAvailability {
  const { name } = account.metadata;
  if (revokesItself(account, spec)) return BEING_DELETED;
  if (spec.suspend)
    return {
      kind: "Unavailable",
      state: "Stalled",
      reason: "ServiceAccountSuspended",
      message: `ServiceAccount ${name} is suspended: nothing is written for it.`,
    };
  if (standing === "InCharge" && bound !== undefined) return { kind: "Usable", account: bound };
  const ready = findCondition(account.status?.conditions, "Ready");
  const why = ready === undefined ? "" : ` (${ready.reason})`;
  const wait = waiting(`ServiceAccount ${name} is not ready${why}.`);
  return standing === "Gone" ? { ...wait, endsAs: "AccountGone" } : wait;
}

/** The account's controller submits an empty list at the end, so that nothing is left to revoke here. */
const BEING_DELETED: UnavailableAccount = {
  kind: "Unavailable",
  state: "Reconciling",
  reason: "ServiceAccountDeleting",
  message: "The ServiceAccount is being deleted and waits for its PolicyBindings to go.",
  endsAs: "AccountDeleting",
};

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
    record: {
      ours: bindings?.policyIds,
      foreign: bindings?.foreignPolicyIds ?? [],
      left: bindings?.leftPolicyIds ?? [],
    },
    withdrawn: [],
  };
}

function revokesItself(
  { metadata, status }: ServiceAccount,
  { deletionPolicy, saId }: ServiceAccountSpec,
): boolean {
  if (metadata.deletionTimestamp === undefined) return false;
  const imported = status?.origin === undefined ? saId !== undefined : status.origin === "Imported";
  return (deletionPolicy ?? (imported ? "Retain" : "Revoke")) !== "Retain";
}

function waiting(message: string): UnavailableAccount {
  return { kind: "Unavailable", state: "Reconciling", reason: "WaitingForServiceAccount", message };
}

export type PolicyGrant = Pick<Rights, "policyIds" | "withdrawsPolicies">;

export interface BindingContext {
  /** What the record of the account says that PolicyBindings have bound. */
  readonly recorded: PolicySet;
  /** `undefined` while it is not known. */
  readonly grant: PolicyGrant | undefined;
  readonly mayRetain: boolean;
}

export function toBindingView(
  binding: PolicyBinding,
  { recorded, grant, mayRetain }: BindingContext,
): BindingView {
  const { metadata, status } = binding;
  const parsed = parseSpec(policyBindingKind, binding);
  const policyIds = parsed.ok ? [...new Set(parsed.spec.policyIds)] : [];
  const suspended = parsed.ok && parsed.spec.suspend;
  const hasFinalizer = metadata.finalizers?.includes(FINALIZER) ?? false;
  // A lost status is made up for by the account's record, never by the spec alone (S11).
  const applied = status?.appliedPolicyIds ?? (hasFinalizer ? common(policyIds, recorded) : []);
  const retains = asksToRetain(binding) || suspended;
  return {
    uid: metadata.uid,
    generation: metadata.generation ?? 0,
    policyIds,
    applied,
    stage: toStage(binding, hasFinalizer, retains && mayRetain),
    hasFinalizer,
    deletedAt: metadata.deletionTimestamp,
    suspended,
    held: false,
    retainRefused: retains && !mayRetain,
    problem: parsed.ok
      ? notGranted(policyIds, grant)
      : { reason: "InvalidSpec", message: parsed.message },
    requestedAt: requestToken(metadata, annotations.reconcileRequestedAt),
    handledAt: status?.lastHandledReconcileAt,
  };
}

/** Read raw: a user who asked to retain is believed even if the rest of the spec is invalid. */
function asksToRetain({ spec }: PolicyBinding): boolean {
  return (spec as Partial<PolicyBinding["spec"]> | undefined)?.deletionPolicy === "Retain";
}

function toStage({ metadata }: PolicyBinding, hasFinalizer: boolean, retains: boolean): Stage {
  if (metadata.deletionTimestamp === undefined) return "Live";
  return !hasFinalizer || retains ? "Releasing" : "Revoking";
}

function notGranted(policyIds: PolicySet, grant: PolicyGrant | undefined): Problem | undefined {
  const refused = notIn(grant, policyIds);
  if (refused.length === 0) return undefined;
  const them = refused.length === 1 ? "it" : "them";
  const bound =
    grant?.withdrawsPolicies === false
      ? "whatever of this was bound before stays bound until this object is deleted or its policyIds change"
      : "whatever of this was bound before is unbound";
  return {
    reason: "PolicyNotGranted",
    message: `The connection does not grant this namespace ${refused.length === 1 ? "policy" : "the policies"} ${listed(refused)}; ${bound}. The other policies that this object has bound stay bound, and nothing new is bound. Ask the administrator of the connection to add ${them} to policyIds of a grant, or remove ${them} from spec.policyIds.`,
  };
}

/** Those that a grant does not name; none where it is not known what is granted. */
export function notIn(grant: PolicyGrant | undefined, policyIds: PolicySet): PolicySet {
  return grant === undefined || grant.policyIds.includes("*")
    ? []
    : without(policyIds, grant.policyIds);
}
