/** The controllers of a plan, each without its queue. */

import { findCondition } from "../../api/conditions.ts";
import { createApiKeyController } from "../../controllers/api-key/controller.ts";
import {
  createClusterConnectionController,
  createConnectionController,
} from "../../controllers/connection/controller.ts";
import type { ConnectionRegistry } from "../../controllers/connection/registry.ts";
import type { Context } from "../../controllers/frame/context.ts";
import type { ReportedObject } from "../../controllers/frame/rules/report.ts";
import { indexes } from "../../controllers/indexes.ts";
import { toRef } from "../../controllers/policy-binding/account-store.ts";
import { createAccountBindingsController } from "../../controllers/policy-binding/controller.ts";
import {
  apiKeyType,
  clusterConnectionType,
  connectionType,
  policyBindingType,
  serviceAccountType,
} from "../../controllers/resource-types.ts";
import { createServiceAccountController } from "../../controllers/service-account/controller.ts";
import { keyText, type ObjectKey } from "../../kube/resource.ts";
import type { Store } from "../../kube/store/store.ts";
import type { Reconcile, Run } from "../../runtime/result.ts";

/** A ResourceQuotaExport is not planned, because it only reads from the console. */
export type PlannedKind =
  | "ClusterConnection"
  | "Connection"
  | "ServiceAccount"
  | "PolicyBinding"
  | "ApiKey";

export interface Worker {
  readonly get: (key: ObjectKey) => ReportedObject | undefined;
  readonly reconcile: (key: ObjectKey, run: Run) => Promise<unknown>;
}
export type Workers = Readonly<Record<PlannedKind, Worker>>;

export function createWorkers(
  context: Context,
  registry: ConnectionRegistry,
  operatorNamespace: string,
): Workers {
  const { caches } = context;
  const sources = { registry, operatorNamespace };
  const bindings = createAccountBindingsController(context);
  return {
    ClusterConnection: worker(
      caches.of(clusterConnectionType),
      createClusterConnectionController(context, sources),
    ),
    Connection: worker(caches.of(connectionType), createConnectionController(context, sources)),
    ServiceAccount: worker(caches.of(serviceAccountType), createServiceAccountController(context)),
    // By account: reports the obstacle of one of its PolicyBindings.
    PolicyBinding: {
      get: (key) =>
        caches
          .of(policyBindingType)
          .byIndex(indexes.serviceAccount, keyText(key))
          .find((binding) => obstacleOf(binding) !== undefined),
      reconcile: (key, run) => bindings.reconcile(toRef(key), run),
    },
    ApiKey: worker(
      caches.of(apiKeyType),
      createApiKeyController(context, { enqueue: () => undefined }),
    ),
  };
}

function worker<T extends ReportedObject>(
  cache: Pick<Store<T>, "get">,
  { reconcile }: { readonly reconcile: Reconcile<T> },
): Worker {
  return {
    get: (key) => cache.get(key),
    reconcile: async (key, run) => {
      const object = cache.get(key);
      if (object !== undefined) await reconcile(object, run);
    },
  };
}

/** Why the object is not ready; `undefined` if it is ready or reports nothing. */
export function obstacleOf(object: ReportedObject | undefined): string | undefined {
  const ready = findCondition(object?.status?.conditions, "Ready");
  return ready?.status === "False" ? `${ready.reason}: ${ready.message}` : undefined;
}
