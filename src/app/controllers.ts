/** Every controller with its store, its watches and its share of the work. */

import { readPair } from "../controllers/api-key/read-pair.ts";
import {
  type ApiKeyController,
  type ApiKeyOptions,
  createApiKeyReconciler,
} from "../controllers/api-key/reconcile.ts";
import {
  createClusterConnectionController,
  createConnectionController,
} from "../controllers/connection/controller.ts";
import type { ConnectionRegistry } from "../controllers/connection/registry.ts";
import { createConsumersReconciler } from "../controllers/consumers/reconcile.ts";
import { ConsumersBoard } from "../controllers/consumers-board.ts";
import type { Context } from "../controllers/frame/context.ts";
import { errorPolicy } from "../controllers/frame/rules/error-policy.ts";
import { createAccountStore } from "../controllers/policy-binding/account-store.ts";
import { createAccountBindingsController } from "../controllers/policy-binding/controller.ts";
import { createQuotaExportController } from "../controllers/quota-export/controller.ts";
import { createServiceAccountController } from "../controllers/service-account/controller.ts";
import { parseLabelSelector } from "../kube/label-selector.ts";
import { type KubeObject, type ObjectKey, parseKey } from "../kube/resource.ts";
import {
  type Controller,
  type ControllerOptions,
  createController,
} from "../runtime/controller.ts";
import type { Reconcile } from "../runtime/result.ts";
import type { Tracer } from "../util/trace.ts";
import type { Config } from "./config.ts";
import { createWatches } from "./watches.ts";

export interface ControllerSet {
  readonly controllers: readonly Controller[];
  readonly apiKeys: ApiKeyController;
}

/** Puts a queue and workers in front of every reconciler. */
export function createControllers(
  context: Context,
  registry: ConnectionRegistry,
  config: Config,
  timing: ApiKeyOptions["timing"],
  tracer: Tracer,
): ControllerSet {
  const { caches, metrics, clock, random, log } = context;
  const watches = createWatches(caches, registry.sessions);
  const few = Math.ceil(config.concurrency / 4);
  const selects = parseLabelSelector(config.selector) ?? (() => true);
  const controller = <T extends KubeObject>(
    part: Pick<ControllerOptions<T>, "name" | "store" | "reconcile" | "watches"> &
      Partial<ControllerOptions<T>>,
  ): Controller =>
    createController({
      needs: Object.values(caches),
      concurrency: few,
      errorPolicy,
      clock,
      random,
      log,
      metrics,
      tracer,
      ...part,
    });
  /** Objects of other operators' shares are left alone. */
  const ours = <T extends KubeObject>(reconcile: Reconcile<T>): Reconcile<T> =>
    config.selector === ""
      ? reconcile
      : async (object, pass) => (selects(object.metadata.labels) ? reconcile(object, pass) : {});

  const deps = { registry, operatorNamespace: config.operatorNamespace };
  const clusterConnections = createClusterConnectionController(context, deps);
  const connections = createConnectionController(context, deps);
  const serviceAccounts = createServiceAccountController(context);
  const accountBindings = createAccountBindingsController(context);
  const board = new ConsumersBoard(config.consumers);
  const apiKeys = createApiKeyReconciler(context, {
    wake: (key) => apiKeyController.enqueue(parseKey(key)),
    timing: { secretCheckMs: config.secretCheckInterval, ...timing },
    consumers: board,
  });
  const quotaExports = createQuotaExportController(context, (apiKey, signal) =>
    readPair(context, apiKey, signal),
  );
  const apiKeyController = controller({
    name: "ApiKey",
    store: caches.apiKeys,
    reconcile: ours(apiKeys.reconcile),
    onGone: apiKeys.onGone,
    watches: watches.apiKeys,
    concurrency: config.concurrency,
  });
  const wake = (key: ObjectKey) => apiKeyController.enqueue(key);
  const consumers = createConsumersReconciler(context, board, wake);
  const controllers = [
    controller({
      name: "ClusterConnection",
      store: caches.clusterConnections,
      ...clusterConnections,
      watches: watches.clusterConnections,
    }),
    controller({
      name: "Connection",
      store: caches.connections,
      ...connections,
      watches: watches.connections,
    }),
    controller({
      name: "ServiceAccount",
      store: caches.serviceAccounts,
      reconcile: ours(serviceAccounts.reconcile),
      onGone: serviceAccounts.onGone,
      watches: watches.serviceAccounts,
    }),
    controller({
      name: "PolicyBinding",
      store: createAccountStore(caches),
      reconcile: accountBindings.reconcile,
      onGone: accountBindings.onGone,
      watches: watches.accountBindings,
      predicate: () => true,
    }),
    apiKeyController,
    // Without leave to look at Pods, nothing is queued and nothing is asked.
    ...(config.consumers === "none"
      ? []
      : [
          controller({
            name: "Consumers",
            store: caches.apiKeys,
            ...consumers,
            reconcile: ours(consumers.reconcile),
          }),
        ]),
    controller({
      name: "ResourceQuotaExport",
      store: caches.resourceQuotaExports,
      reconcile: ours(quotaExports.reconcile),
      onGone: quotaExports.onGone,
      watches: watches.resourceQuotaExports,
    }),
  ];
  return { controllers, apiKeys };
}
