import { type Condition, findCondition } from "../../api/conditions.ts";
import { ISSUANCE_ALLOWED } from "../../api/issuance.ts";
import type { KindName } from "../../api/kinds.ts";
import { isRevoking } from "../../api/revoking.ts";
import { createApiKeyReconciler } from "../../kinds/api-key/reconciler.ts";
import {
  createClusterConnectionReconciler,
  createConnectionReconciler,
} from "../../kinds/connection/reconciler.ts";
import type { ConnectionRegistry } from "../../kinds/connection/registry.ts";
import { toRef } from "../../kinds/policy-binding/account-store.ts";
import { createAccountBindingsReconciler } from "../../kinds/policy-binding/reconciler.ts";
import { createServiceAccountReconciler } from "../../kinds/service-account/reconciler.ts";
import { keyText, type ObjectKey } from "../../kube/resource.ts";
import type { Store } from "../../kube/store/store.ts";
import type { Context } from "../../reconciler/context.ts";
import type { PlannedObject } from "../../reconciler/plan/plan-object.ts";
import type { ReportedObject } from "../../reconciler/rules/report.ts";
import { indexes } from "../../resources/indexes.ts";
import {
  apiKeyType,
  clusterConnectionType,
  connectionType,
  policyBindingType,
  resourceQuotaExportType,
  serviceAccountType,
} from "../../resources/resource-types.ts";
import type { Run } from "../../runtime/result.ts";
import { createExportPlanner } from "./export-planner.ts";

/** `Policies` are those of a ServiceAccount: one list, whichever PolicyBinding declares them. */
export type PlannedKind = Exclude<KindName, "PolicyBinding"> | "Policies";

export interface Reporting {
  readonly kind: KindName;
  readonly object: ReportedObject;
}

interface Planner {
  /** The objects that report whether they would be ready: the PolicyBindings, for policies. */
  readonly reporting: (key: ObjectKey) => readonly Reporting[];
  /** `undefined` if the object does not exist. */
  readonly plan: (key: ObjectKey, signal: AbortSignal) => Promise<PlannedObject | undefined>;
}
export type Planners = Readonly<Record<PlannedKind, Planner>>;

/** `isToChange` says whether an earlier plan has calls for the object. */
export function createPlanners(
  context: Context,
  registry: ConnectionRegistry,
  operatorNamespace: string,
  isToChange: (kind: PlannedKind, key: ObjectKey) => boolean,
): Planners {
  const { caches } = context;
  const sources = { registry, operatorNamespace };
  const bindings = createAccountBindingsReconciler(context);
  return {
    ClusterConnection: planner(
      "ClusterConnection",
      caches.of(clusterConnectionType),
      createClusterConnectionReconciler(context, sources),
    ),
    Connection: planner(
      "Connection",
      caches.of(connectionType),
      createConnectionReconciler(context, sources),
    ),
    ServiceAccount: planner(
      "ServiceAccount",
      caches.of(serviceAccountType),
      createServiceAccountReconciler(context),
    ),
    Policies: {
      reporting: (key) =>
        caches
          .of(policyBindingType)
          .byIndex(indexes.serviceAccount, keyText(key))
          .map((object) => ({ kind: "PolicyBinding", object })),
      plan: (key, signal) => bindings.plan(toRef(key), { signal }),
    },
    ApiKey: planner("ApiKey", caches.of(apiKeyType), {
      // A new controller for each ApiKey counts the keys that the plan issues for the others.
      plan: (object, run) => createApiKeyReconciler(context, {}).plan(object, run),
    }),
    ResourceQuotaExport: planner(
      "ResourceQuotaExport",
      caches.of(resourceQuotaExportType),
      createExportPlanner(context, isToChange),
    ),
  };
}

function planner<T extends ReportedObject>(
  kind: KindName,
  cache: Pick<Store<T>, "get">,
  { plan }: { readonly plan: (object: T, run: Pick<Run, "signal">) => Promise<PlannedObject> },
): Planner {
  return {
    reporting: (key) => {
      const object = cache.get(key);
      return object === undefined ? [] : [{ kind, object }];
    },
    plan: async (key, signal) => {
      const object = cache.get(key);
      return object && plan(object, { signal });
    },
  };
}

/**
 * Why the object is not ready, or why a ready ApiKey is issued no other key; `undefined` if it reports neither. A
 * revocation that a person has asked for is no obstacle.
 */
export function obstacleOf({ status }: ReportedObject): Condition | undefined {
  const ready = findCondition(status?.conditions, "Ready");
  if (ready?.status === "False" && !isRevoking(ready.reason)) return ready;
  const issuance = findCondition(status?.conditions, ISSUANCE_ALLOWED);
  return issuance?.status === "False" ? issuance : undefined;
}
