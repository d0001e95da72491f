/** Manages one console account for each ServiceAccount: created once, or imported by its ID. */
import { parseStoredSpec } from "../../api/parse-spec.ts";
import { serviceAccountKind } from "../../api/service-account.ts";
import { connectionOf } from "../../connections/connection-key.ts";
import type { ObjectKey } from "../../kube/resource.ts";
import type { Context } from "../../reconciler/context.ts";
import type { KindDefinition } from "../../reconciler/kind-definition.ts";
import { createReconciler, type KindReconciler } from "../../reconciler/reconciler.ts";
import { indexes } from "../../resources/indexes.ts";
import { serviceAccountType } from "../../resources/resource-types.ts";
import { reconcileDeletion } from "./deletion.ts";
import { createAccountEffects } from "./effects/effects.ts";
import { MarkedAccounts } from "./marked-accounts.ts";
import { observe } from "./observe.ts";
import { report } from "./rules/report.ts";
import type { AccountKind } from "./rules/snapshot.ts";
import { reconcileAccount } from "./run.ts";

/** `enqueue` receives an object for which a list in another object's run has found accounts. */
export function createServiceAccountReconciler(
  context: Context,
  enqueue: (key: ObjectKey) => void = () => undefined,
): KindReconciler<AccountKind> {
  const marked = new MarkedAccounts(enqueue, context.memory);
  forgetUnusedConnections(context, marked);
  const effects = createAccountEffects(marked);
  const kind: KindDefinition<AccountKind> = {
    type: serviceAccountType,
    parse: (object) => parseStoredSpec(serviceAccountKind, object),
    observe: (object, spec, run) => observe(object, spec, run, marked),
    run: (snapshot, readNow) => reconcileAccount(snapshot, { ...effects, readNow }),
    runOfDeletion: (snapshot, readNow) => reconcileDeletion(snapshot, { ...effects, readNow }),
    report,
    // Another field manager owns the status fields about policies bound to the account.
    foreignFields: ["bindings"],
  };
  return createReconciler(kind, context);
}

function forgetUnusedConnections({ caches }: Context, marked: MarkedAccounts): void {
  const accounts = caches.of(serviceAccountType);
  accounts.subscribe(({ old }) => {
    for (const connection of old === undefined ? [] : connectionOf(old))
      if (accounts.countByIndex(indexes.connection, connection) === 0) marked.forget(connection);
  });
}
