/** What users see: statuses, events and metrics, from the same values that were decided on. */
import { findCondition, type Readiness, readinessConditions } from "../../api/conditions.ts";
import { BINDINGS_FIELD_MANAGER } from "../../api/meta.ts";
import type { PolicyBinding, PolicyBindingStatus } from "../../api/policy-binding.ts";
import type { ServiceAccount, ServiceAccountStatus } from "../../api/service-account.ts";
import { type Instant, toIso8601 } from "../../util/time.ts";
import type { Context } from "../frame/context.ts";
import { writeStatus } from "../frame/status-writer.ts";
import { policyBindingType, serviceAccountType } from "../resource-types.ts";
import { type Decision, isActive, MAX_POLICIES } from "./decide.ts";
import type { PolicySet } from "./policy-set.ts";
import { listed, without } from "./policy-set.ts";
import { isStale } from "./schedule.ts";
import type { AccountView, BindingView, Problem } from "./view.ts";

/** The part of a pass that its report tells. */
export interface Outcome {
  readonly decision: Decision;
  /** The console was written, or was found to be as declared. */
  readonly verified: boolean;
  /** `undefined` where the console was not asked in this pass. */
  readonly readable: boolean | undefined;
}

/** What one PolicyBinding's status says besides its conditions. */
export interface Facts {
  readonly applied: PolicySet;
  readonly foreign: PolicySet | undefined;
  readonly verified: boolean;
  /** The console was asked, or there was no need to: a request for a new look is fulfilled. */
  readonly handled: boolean;
}

export function bindingReadiness(
  account: AccountView,
  binding: BindingView,
  decision: Decision,
): Readiness {
  if (binding.suspended) return suspended;
  if (binding.problem !== undefined) return { state: "Stalled", ...binding.problem };
  const { hold } = decision;
  if (hold !== undefined) {
    return { state: hold.reason === "Contended" ? "Reconciling" : "Stalled", ...hold };
  }
  if (account.suspendAccess) {
    return {
      state: "Reconciling",
      reason: "AccessSuspended",
      message: "suspendAccess is true on the ServiceAccount: no policy at all is bound to it.",
    };
  }
  if (decision.postponed.has(binding.uid)) {
    return {
      state: "Reconciling",
      reason: "Syncing",
      message:
        "The console refused a change of the account's policies; its PolicyBindings are tried one by one.",
    };
  }
  const count = binding.policyIds.length;
  return {
    state: "Ready",
    reason: "Synced",
    message: count === 1 ? "1 policy is bound." : `${count} policies are bound.`,
  };
}

const suspended: Readiness = {
  state: "Reconciling",
  reason: "Suspended",
  message: "spec.suspend is true: what was bound stays, nothing is written.",
};

/** What a binding says while nothing can be done for its account. */
export function waitingReadiness(binding: BindingView, why: Problem): Readiness {
  if (binding.suspended) return suspended;
  if (binding.problem !== undefined) return { state: "Stalled", ...binding.problem };
  return { state: "Reconciling", ...why };
}

export function nextBindingStatus(
  binding: PolicyBinding,
  view: BindingView,
  facts: Facts,
  readiness: Readiness,
  now: Instant,
): PolicyBindingStatus {
  const { status = {}, metadata } = binding;
  const generation = metadata.generation ?? 0;
  const { applied, foreign, verified, handled } = facts;
  const changed =
    JSON.stringify(status.appliedPolicyIds ?? []) !== JSON.stringify(applied) ||
    status.observedGeneration !== generation ||
    status.lastHandledReconcileAt !== view.requestedAt;
  return {
    ...status,
    observedGeneration: generation,
    conditions: [...readinessConditions(status.conditions ?? [], readiness, generation, now)],
    appliedPolicyIds: [...applied],
    policyCount: applied.length,
    ...(foreign === undefined ? {} : { foreignPolicyIds: foreign.slice(0, MAX_POLICIES) }),
    ...(verified && isActive(view) && (changed || isStale(status.lastSyncTime, now))
      ? { lastSyncTime: toIso8601(now) }
      : {}),
    ...(view.requestedAt === undefined || !handled
      ? {}
      : { lastHandledReconcileAt: view.requestedAt }),
  };
}

/** Writes one binding's status, its metric, and an event where its readiness went wrong or came back. */
export async function reportBinding(
  context: Context,
  binding: PolicyBinding,
  status: PolicyBindingStatus,
  signal: AbortSignal,
): Promise<void> {
  const { policyBindings } = context.caches;
  await writeStatus(context, policyBindingType, policyBindings, binding, status, { signal });
  const { namespace = "", name } = binding.metadata;
  const old = findCondition(binding.status?.conditions, "Ready");
  const ready = findCondition(status.conditions, "Ready");
  context.metrics.objectReady.set(
    { kind: policyBindingType.kind, namespace, name },
    ready?.status === "True" ? 1 : 0,
  );
  const stalled = findCondition(status.conditions, "Stalled");
  if (
    stalled !== undefined &&
    (old?.reason !== stalled.reason || old.message !== stalled.message)
  ) {
    context.events.record(toTarget(binding), {
      type: "Warning",
      reason: stalled.reason,
      action: "SyncBindings",
      note: stalled.message.slice(0, 1_000),
    });
  }
}

/** Records on the account how this pass leaves the console (S11). Only what differs is written. */
export async function recordOutcome(
  context: Context,
  account: ServiceAccount,
  { decision, verified, readable }: Outcome,
  now: Instant,
  signal: AbortSignal,
): Promise<void> {
  const old = account.status?.bindings ?? {};
  const { ours, foreign, bound, hold } = decision;
  const isKnown = hold === undefined && (verified || old.policyIds !== undefined);
  const next = {
    ...old,
    ...(isKnown
      ? {
          policyIds: [...ours],
          foreignPolicyIds: foreign.slice(0, MAX_POLICIES),
          policyCount: bound.length,
        }
      : {}),
    ...(readable === undefined ? {} : { readable }),
  };
  const changed = JSON.stringify(next) !== JSON.stringify(old);
  if (verified && (changed || isStale(old.lastSyncTime, now))) next.lastSyncTime = toIso8601(now);
  if (JSON.stringify(next) === JSON.stringify(old)) return;
  await writeStatus(
    context,
    serviceAccountType,
    context.caches.serviceAccounts,
    account,
    { ...account.status, bindings: next } satisfies ServiceAccountStatus,
    {
      fieldManager: BINDINGS_FIELD_MANAGER,
      foreignFields: Object.keys(account.status ?? {}).filter((field) => field !== "bindings"),
      signal,
    },
  );
}

/** The event of a PUT. */
export function tellSync(
  context: Pick<Context, "events">,
  account: ServiceAccount,
  reason: "PoliciesSynced" | "DriftCorrected" | "AccessSuspended",
  bound: PolicySet,
  unbound: PolicySet,
): void {
  const parts = [
    bound.length === 0 ? "" : `Bound ${listed(bound)}.`,
    unbound.length === 0 ? "" : `Unbound ${listed(unbound)}.`,
  ].filter((part) => part !== "");
  context.events.record(toTarget(account), {
    type: reason === "PoliciesSynced" ? "Normal" : "Warning",
    reason,
    action: "SyncBindings",
    note: (parts.join(" ") || "Submitted the policies of the account.").slice(0, 1_000),
  });
}

/** Foreign policies that nobody had told of before. */
export function tellForeign(
  context: Pick<Context, "events">,
  account: ServiceAccount,
  { record, foreignPolicies }: AccountView,
  foreign: PolicySet,
): void {
  const found = without(foreign, record.foreign);
  if (foreignPolicies === "Remove" || record.ours === undefined || found.length === 0) return;
  context.events.record(toTarget(account), {
    type: "Normal",
    reason: "ForeignPoliciesFound",
    action: "SyncBindings",
    note: `Somebody else bound ${listed(found)}; foreignPolicies is Keep, so they stay.`,
  });
}

/** What a PolicyBinding leaves behind when it goes. */
export function tellLeftBound(
  context: Pick<Context, "events">,
  binding: PolicyBinding,
  left: PolicySet,
  why: string,
): void {
  if (left.length === 0) return;
  context.events.record(toTarget(binding), {
    type: "Warning",
    reason: "PoliciesLeftBound",
    action: "RemoveFinalizer",
    note: `${why} These policies stay bound: ${listed(left)}.`.slice(0, 1_000),
  });
}

function toTarget<T extends PolicyBinding | ServiceAccount>({ apiVersion, kind, metadata }: T) {
  return { apiVersion, kind, metadata };
}
