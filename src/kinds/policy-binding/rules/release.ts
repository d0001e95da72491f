/** Which deleted PolicyBindings lose their finalizer, and why. Pure. */
import { recordedPolicies } from "../../../accounts/recorded-policies.ts";
import { cleanupDeadline } from "../../../reconciler/rules/cleanup.ts";
import { type PolicySet, union, without } from "./policy-set.ts";
import type { BindingsSnapshot } from "./snapshot.ts";
import type { BindingView, BoundAccount, Stage } from "./views.ts";

/** Deleted objects in these stages that still have the operator's finalizer. */
export function releasable(
  { bindings, objects }: BindingsSnapshot,
  ...stages: readonly Exclude<Stage, "Live">[]
): readonly BindingView[] {
  return bindings
    .filter(({ stage }) => stages.some((each) => each === stage))
    .filter(({ uid, hasFinalizer }) => hasFinalizer && objects.has(uid));
}

export function isUnbound({ applied }: BindingView): boolean {
  return applied.length === 0;
}

/** Objects whose policies could not be revoked for too long. */
export function lateRevocations(snapshot: BindingsSnapshot): readonly BindingView[] {
  return releasable(snapshot, "Revoking").filter((each) => timeLeft(snapshot, each) <= 0);
}

/** The recorded policies that are still to be unbound: no PolicyBinding declares or retains them. */
export function unrevokedPolicies(
  { ledger }: BoundAccount,
  bindings: readonly BindingView[],
): PolicySet {
  return withoutKept(recordedPolicies(ledger, "Unrevoked"), bindings);
}

/** The policies that no PolicyBinding declares or retains. */
export function withoutKept(policyIds: PolicySet, bindings: readonly BindingView[]): PolicySet {
  const kept = bindings.filter(({ stage }) => stage !== "Revoking");
  return without(policyIds, ...kept.map((each) => union(each.policyIds, each.applied)));
}

/** Milliseconds until the next object waiting for its revocation is released without it. */
export function endOfWait(snapshot: BindingsSnapshot): { readonly afterMs?: number } {
  const waits = snapshot.bindings
    .filter(({ stage, uid }) => stage === "Revoking" && snapshot.objects.has(uid))
    .map((binding) => timeLeft(snapshot, binding));
  return waits.length === 0 ? {} : { afterMs: Math.min(...waits) };
}

function timeLeft({ now }: BindingsSnapshot, { blockedSince }: BindingView): number {
  return cleanupDeadline(blockedSince, now) - now;
}
