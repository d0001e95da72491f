/** What stored objects say about an account and its PolicyBindings. Pure. */
import { findCondition, isTrue } from "../../../api/conditions.ts";
import type { Rights } from "../../../api/connection.ts";
import { annotations, FINALIZER } from "../../../api/meta.ts";
import { parseSpec } from "../../../api/parse-spec.ts";
import { type PolicyBinding, policyBindingKind } from "../../../api/policy-binding.ts";
import {
  type ServiceAccount,
  type ServiceAccountSpec,
  serviceAccountKind,
} from "../../../api/service-account.ts";
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
}

export interface BoundAccount {
  readonly uid: string;
  readonly tpn: string;
  readonly orgId: string;
  /** Created by the operator, so that nobody else can have bound anything before it did. */
  readonly created: boolean;
  readonly foreignPolicies: "Keep" | "Remove";
  readonly suspendAccess: boolean;
  readonly record: BindingsRecord;
}

/** What may be done for the account that a set of PolicyBindings names. */
export type AccountAvailability = UsableAccount | UnavailableAccount;

export interface UsableAccount {
  readonly kind: "Usable";
  readonly account: BoundAccount;
  readonly connectionRef: ServiceAccountSpec["connectionRef"];
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
  /** Of these, what the connection's administrator has taken out of the grants: it is unbound. */
  readonly withdrawn: PolicySet;
  readonly stage: Stage;
  /** Carries our finalizer. */
  readonly hasFinalizer: boolean;
  readonly deletedAt: string | undefined;
  readonly suspended: boolean;
  readonly problem: Problem | undefined;
  readonly requestedAt: string | undefined;
  readonly handledAt: string | undefined;
}

export function toAvailability(
  account: ServiceAccount | undefined,
  name: string,
): AccountAvailability {
  if (account === undefined) {
    const message = `There is no ServiceAccount ${name} in this namespace.`;
    return { ...waiting(message), endsAs: "AccountMissing" };
  }
  const parsed = parseSpec(serviceAccountKind, account);
  if (!parsed.ok) return waiting(`The spec of ServiceAccount ${name} is invalid.`);
  if (revokesItself(account, parsed.spec)) return BEING_DELETED;
  if (!parsed.spec.suspend) return toUsable(account, parsed.spec);
  return {
    kind: "Unavailable",
    state: "Stalled",
    reason: "ServiceAccountSuspended",
    message: `ServiceAccount ${name} is suspended: nothing is written for it.`,
  };
}

/** The account's controller submits an empty list at the end, so that nothing is left to revoke here. */
const BEING_DELETED: UnavailableAccount = {
  kind: "Unavailable",
  state: "Reconciling",
  reason: "ServiceAccountDeleting",
  message: "The ServiceAccount is being deleted and waits for its PolicyBindings to go.",
  endsAs: "AccountDeleting",
};

function toUsable(account: ServiceAccount, spec: ServiceAccountSpec): AccountAvailability {
  const { metadata, status = {} } = account;
  const { tpn, orgId, origin, bindings, conditions } = status;
  const ready = findCondition(conditions, "Ready");
  const deleting = metadata.deletionTimestamp !== undefined;
  // While it waits for its PolicyBindings to go, a ServiceAccount is not ready but still in charge.
  const inCharge = isTrue(conditions, "Ready") || (deleting && ready?.reason === "InUse");
  if (!inCharge || tpn === undefined || orgId === undefined) {
    const why = ready === undefined ? "" : ` (${ready.reason})`;
    const wait = waiting(`ServiceAccount ${metadata.name} is not ready${why}.`);
    return ready !== undefined && GONE.has(ready.reason)
      ? { ...wait, endsAs: "AccountGone" }
      : wait;
  }
  return {
    kind: "Usable",
    connectionRef: spec.connectionRef,
    account: {
      uid: metadata.uid,
      tpn,
      orgId,
      created: origin === "Created",
      foreignPolicies: spec.foreignPolicies,
      suspendAccess: spec.suspendAccess,
      record: { ours: bindings?.policyIds, foreign: bindings?.foreignPolicyIds ?? [] },
    },
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

/** What the ServiceAccount's own controller says of an account that the console answers 404 for. */
const GONE: ReadonlySet<string> = new Set(["ServiceAccountGone", "ServiceAccountNotFound"]);

function waiting(message: string): UnavailableAccount {
  return { kind: "Unavailable", state: "Reconciling", reason: "WaitingForServiceAccount", message };
}

export type PolicyGrant = Pick<Rights, "policyIds" | "onWithdrawal">;

export function toBindingView(
  binding: PolicyBinding,
  recorded: PolicySet,
  grant: PolicyGrant | undefined,
): BindingView {
  const { metadata, status } = binding;
  const parsed = parseSpec(policyBindingKind, binding);
  const policyIds = parsed.ok ? [...new Set(parsed.spec.policyIds)] : [];
  const suspended = parsed.ok && parsed.spec.suspend;
  const hasFinalizer = metadata.finalizers?.includes(FINALIZER) ?? false;
  // A lost status is made up for by the account's record, never by the spec alone (S11).
  const applied = status?.appliedPolicyIds ?? (hasFinalizer ? common(policyIds, recorded) : []);
  return {
    uid: metadata.uid,
    generation: metadata.generation ?? 0,
    policyIds,
    applied,
    withdrawn: grant?.onWithdrawal === "Unbind" ? notIn(grant, applied) : [],
    stage: toStage(binding, hasFinalizer, suspended),
    hasFinalizer,
    deletedAt: metadata.deletionTimestamp,
    suspended,
    problem: parsed.ok
      ? notGranted(policyIds, grant)
      : { reason: "InvalidSpec", message: parsed.message },
    requestedAt: requestToken(metadata, annotations.reconcileRequestedAt),
    handledAt: status?.lastHandledReconcileAt,
  };
}

function toStage(
  { metadata, spec }: PolicyBinding,
  hasFinalizer: boolean,
  suspended: boolean,
): Stage {
  if (metadata.deletionTimestamp === undefined) return "Live";
  // Read raw: a person who asked to retain is believed even where the rest of the spec is invalid.
  const retain = (spec as Partial<PolicyBinding["spec"]> | undefined)?.deletionPolicy === "Retain";
  return !hasFinalizer || suspended || retain ? "Releasing" : "Revoking";
}

function notGranted(policyIds: PolicySet, grant: PolicyGrant | undefined): Problem | undefined {
  const refused = notIn(grant, policyIds);
  if (refused.length === 0) return undefined;
  const them = refused.length === 1 ? "it" : "them";
  const bound =
    grant?.onWithdrawal === "Keep"
      ? "whatever of this was bound before stays bound until this object is deleted or its policyIds change"
      : "whatever of this was bound before is unbound";
  return {
    reason: "PolicyNotGranted",
    message: `The connection does not grant this namespace ${refused.length === 1 ? "policy" : "the policies"} ${listed(refused)}; ${bound}. The other policies that this object has bound stay bound, and nothing new is bound. Ask the administrator of the connection to add ${them} to policyIds of a grant, or remove ${them} from spec.policyIds.`,
  };
}

/** Those that a grant does not name; none where it is not known what is granted. */
function notIn(grant: PolicyGrant | undefined, policyIds: PolicySet): PolicySet {
  return grant === undefined || grant.policyIds.includes("*")
    ? []
    : without(policyIds, grant.policyIds);
}
