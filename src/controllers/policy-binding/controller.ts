import { keyOf, keyText, type ObjectKey } from "../../kube/resource.ts";
import { type Context, indexes } from "../frame/context.ts";
import type { KindController } from "../frame/kind-controller.ts";
import { createReconciler, type KindReconciler } from "../frame/reconciler.ts";
import { isPlanOnly } from "../frame/rules/plan-only.ts";
import { policyBindingType, serviceAccountType } from "../resource-types.ts";
import type { AccountRef } from "./account-store.ts";
import { perform } from "./actions/perform.ts";
import { observe } from "./observe.ts";
import { next } from "./rules/next.ts";
import { report } from "./rules/report.ts";
import type { AccountBindingsKind, BindingsRun } from "./rules/snapshot.ts";

/**
 * Reconciles the policies bound to one service account to match its PolicyBindings, all of them in one run: the console
 * knows no smaller change than the whole list. Rejects as every reconcile does; each PolicyBinding says why then.
 */
export function createAccountBindingsController(
  context: Context,
): KindReconciler<AccountBindingsKind> {
  const { policyBindings } = context.caches;
  const kind: KindController<AccountBindingsKind> = {
    type: serviceAccountType,
    // Nothing is ever written to a reference.
    cache: { noteWrite: () => undefined },
    parse: () => ({ ok: true, spec: { suspend: false } }),
    start: {},
    needsFinalizer: new Set(),
    always: new Set(),
    isPlanOnly: isAccountPlanOnly,
    observe,
    next,
    perform,
    report: (progress, outcome, _, state) => report(policyBindings, progress, outcome, state),
  };
  const { reconcile, onGone } = createReconciler(kind, context);
  const forgetReleased = createForgetReleased(context);
  return {
    reconcile: (ref, run) => {
      forgetReleased(keyOf(ref));
      return reconcile(ref, run);
    },
    onGone: (key) => {
      forgetReleased(key);
      onGone(key);
    },
  };
}

/**
 * The policies of an account are one list, so that one PolicyBinding that is only planned for holds back all of them; but
 * neither the kill switch nor what an administrator has withdrawn, or it would be a tenant's way around that.
 */
async function isAccountPlanOnly(ref: AccountRef, run: BindingsRun): Promise<boolean> {
  const { serviceAccounts, policyBindings } = run.caches;
  const account = serviceAccounts.get(keyOf(ref));
  const named = policyBindings.byIndex(indexes.serviceAccount, keyText(keyOf(ref)));
  const isHeld = [account, ...named].some((each) => each !== undefined && isPlanOnly(each));
  if (!isHeld || account?.spec.suspendAccess === true) return false;
  const { bindings } = await observe(ref, undefined, run);
  return bindings.every(({ withdrawn }) => withdrawn.length === 0);
}

/** The metrics of PolicyBindings that an account had before and has no more. */
function createForgetReleased({ caches, metrics }: Context): (account: ObjectKey) => void {
  const known = new Map<string, ReadonlySet<string>>();
  return (account) => {
    const key = keyText(account);
    const bindings = caches.policyBindings.byIndex(indexes.serviceAccount, key);
    const names = new Set(bindings.map(({ metadata }) => metadata.name));
    for (const name of known.get(key) ?? [])
      if (!names.has(name)) metrics.forgetObject(policyBindingType.kind, account.namespace, name);
    if (names.size === 0) known.delete(key);
    else known.set(key, names);
  };
}
