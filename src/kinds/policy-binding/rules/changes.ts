/** What a decision changes: finalizers, intents and the bound policies. Pure. */

import { FINALIZER } from "../../../api/meta.ts";
import { newPolicies } from "./decide.ts";
import { activeBindings, type Evaluation } from "./evaluate.ts";
import { contains, type PolicySet, sameSet, union } from "./policy-set.ts";
import { releasable } from "./release.ts";
import type { BindingsSnapshot } from "./snapshot.ts";
import type { BindingView } from "./views.ts";

/** `status.appliedPolicyIds` of a PolicyBinding. */
export interface Intent {
  readonly uid: string;
  readonly policyIds: PolicySet;
}

/** One syncBindings call. */
export interface Sync {
  readonly policyIds: PolicySet;
  /** The policies in `policyIds` that PolicyBindings declare. */
  readonly ours: PolicySet;
  /** The policies bound before the call, as far as they are known. */
  readonly before: PolicySet;
  readonly reason: "PoliciesSynced" | "DriftCorrected" | "AccessRevoked" | "PoliciesReappeared";
  readonly isDrift: boolean;
  /** Policies that a call without a usable response has bound late. */
  readonly reappeared: PolicySet;
  /** Objects whose policies the call binds for the first time: they may be the cause of a rejection. */
  readonly suspects: readonly BindingView[];
}

/** Whether the decision changes a PolicyBinding or the bound policies. */
export function changesObjects(snapshot: BindingsSnapshot, evaluation: Evaluation): boolean {
  const { sync, blocked } = evaluation.decision;
  return (
    sync !== undefined ||
    lackingFinalizer(snapshot, evaluation).length > 0 ||
    missingIntents(snapshot, evaluation).length > 0 ||
    (blocked === undefined && releasable(snapshot, "Revoking").length > 0) ||
    releasable(snapshot, "Releasing").length > 0
  );
}

/** Before anything is bound, so that a deletion cannot finish before its policies are unbound. */
export function lackingFinalizer(
  { objects }: BindingsSnapshot,
  evaluation: Evaluation,
): readonly string[] {
  return activeBindings(evaluation)
    .map(({ uid }) => uid)
    .filter((uid) => !objects.get(uid)?.metadata.finalizers?.includes(FINALIZER));
}

/** Before the call, so that after a crash an object accounts for every policy (S11). */
export function missingIntents(
  snapshot: BindingsSnapshot,
  evaluation: Evaluation,
): readonly Intent[] {
  return activeBindings(evaluation).flatMap((binding) => {
    const { uid, policyIds } = binding;
    const applied = appliedNow(binding, snapshot);
    return contains(applied, policyIds) ? [] : [{ uid, policyIds: union(applied, policyIds) }];
  });
}

/** The objects with an intent of this run, as they were before it. */
export function withoutIntents(snapshot: BindingsSnapshot): readonly Intent[] {
  return snapshot.bindings
    .filter((each) => !sameSet(appliedNow(each, snapshot), each.applied))
    .map(({ uid, applied }) => ({ uid, policyIds: applied }));
}

/** The object's recorded policies after this run's writes. */
function appliedNow({ uid, applied }: BindingView, { objects }: BindingsSnapshot): PolicySet {
  return objects.get(uid)?.status?.appliedPolicyIds ?? applied;
}

/** The call that the decision requires. */
export function toSync(evaluation: Evaluation): Sync | undefined {
  const { decision, isDrift, before } = evaluation;
  const { sync: policyIds, ours, reappeared } = decision;
  if (policyIds === undefined) return undefined;
  const [reason, suspects] = [reasonOf(evaluation), suspectsOf(evaluation)];
  return { policyIds, ours, before, reason, isDrift, reappeared, suspects };
}

function reasonOf({ input, decision, isDrift }: Evaluation): Sync["reason"] {
  if (decision.reappeared.length > 0) return "PoliciesReappeared";
  if (input.account.accessRevoked) return "AccessRevoked";
  return isDrift ? "DriftCorrected" : "PoliciesSynced";
}

function suspectsOf({ input, decision, before }: Evaluation): readonly BindingView[] {
  return newPolicies(input.bindings, before).filter(({ uid }) => !decision.postponed.has(uid));
}
