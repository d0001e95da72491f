import { isPlanOnly } from "../../api/plan-only.ts";
import { keyOf, keyText } from "../../kube/resource.ts";
import type { Context } from "../../reconciler/context.ts";
import type { KindDefinition } from "../../reconciler/kind-definition.ts";
import { createReconciler, type KindReconciler } from "../../reconciler/reconciler.ts";
import { indexes } from "../../resources/indexes.ts";
import { policyBindingType, serviceAccountType } from "../../resources/resource-types.ts";
import type { AccountRef } from "./account-store.ts";
import { observe } from "./observe.ts";
import { report } from "./rules/report.ts";
import type { AccountBindingsKind, BindingsReading } from "./rules/snapshot.ts";
import { reconcileBindings } from "./run.ts";

/**
 * Reconciles the policies bound to one service account to match all its PolicyBindings in one run: the console can only
 * replace the whole list. Rejects as every reconcile does; each PolicyBinding's status then reports the failure.
 */
export function createAccountBindingsReconciler(
  context: Context,
): KindReconciler<AccountBindingsKind> {
  const kind: KindDefinition<AccountBindingsKind> = {
    type: serviceAccountType,
    parse: () => ({ ok: true, spec: { suspend: false } }),
    isPlanOnly: isAccountPlanOnly,
    observe,
    run: reconcileBindings,
    report: (snapshot, outcome, _, state) => report(snapshot, outcome, state),
  };
  return createReconciler(kind, context);
}

/**
 * The policies of an account are one list, so one plan-only PolicyBinding makes the whole account plan-only. It does
 * not stop revoking access or unbinding withdrawn policies; otherwise a tenant could bypass them.
 */
async function isAccountPlanOnly(ref: AccountRef, run: BindingsReading): Promise<boolean> {
  const account = run.caches.of(serviceAccountType).get(keyOf(ref));
  const named = run.caches
    .of(policyBindingType)
    .byIndex(indexes.serviceAccount, keyText(keyOf(ref)));
  const isPlanned = [account, ...named].some((each) => each !== undefined && isPlanOnly(each));
  if (!isPlanned || account?.spec.access === "Revoked") return false;
  const { availability } = await observe(ref, undefined, run);
  if (availability.kind !== "Usable") return true;
  const { account: bound, restriction } = availability;
  return bound.withdrawn.length === 0 && restriction?.withdrawal === undefined;
}
