/** Manages one console account for each ServiceAccount: created once, or imported by its ID. */
import { type ParsedSpec, parseSpec } from "../../api/parse-spec.ts";
import {
  type ServiceAccount,
  type ServiceAccountSpec,
  serviceAccountKind,
} from "../../api/service-account.ts";
import type { ObjectKey } from "../../kube/resource.ts";
import type { Context } from "../frame/context.ts";
import { createReconciler, type KindReconciler } from "../frame/reconciler.ts";
import { serviceAccountType } from "../resource-types.ts";
import { MarkedAccounts } from "./marked-accounts.ts";
import { observe } from "./observe.ts";
import { nextOfDeletion } from "./rules/deletion.ts";
import { next } from "./rules/next.ts";
import { report } from "./rules/report.ts";
import type { AccountKind } from "./rules/snapshot.ts";
import { accountSteps } from "./steps/steps.ts";

/** `enqueue` receives an object for which a list in another object's run has found accounts. */
export function createServiceAccountController(
  context: Context,
  enqueue: (key: ObjectKey) => void = () => undefined,
): KindReconciler<AccountKind> {
  const marked = new MarkedAccounts(enqueue);
  return createReconciler<AccountKind>(
    {
      type: serviceAccountType,
      parse,
      start: {},
      observe: (object, spec, run) => observe(object, spec, run, marked),
      next,
      nextOfDeletion,
      steps: accountSteps(marked),
      report,
      // Another field manager owns the status fields about policies bound to the account.
      foreignFields: ["bindings"],
    },
    context,
  );
}

/** If the object is being deleted, only its valid fields count: an invalid spec must not block the deletion. */
function parse(object: ServiceAccount): ParsedSpec<ServiceAccountSpec> {
  const parsed = parseSpec(serviceAccountKind, object);
  if (parsed.ok || object.metadata.deletionTimestamp === undefined) return parsed;
  const readable = Object.entries(object.spec ?? {}).filter(
    ([field, value]) => parseSpec(serviceAccountKind, { spec: { [field]: value } }).ok,
  );
  return parseSpec(serviceAccountKind, { spec: Object.fromEntries(readable) });
}
