/** Every controller with its store, its watches and its share of the work. */

import { createConsumersController } from "../consumers/controller.ts";
import {
  type ApiKeyController,
  type ApiKeyOptions,
  createApiKeyController,
} from "../controllers/api-key/controller.ts";
import { readPair } from "../controllers/api-key/read-pair.ts";
import {
  createClusterConnectionController,
  createConnectionController,
} from "../controllers/connection/controller.ts";
import type { ConnectionRegistry } from "../controllers/connection/registry.ts";
import { ConsumersBoard, type ConsumersMode } from "../controllers/consumers-board.ts";
import type { Context } from "../controllers/frame/context.ts";
import { errorPolicy } from "../controllers/frame/rules/error-policy.ts";
import { createAccountStore } from "../controllers/policy-binding/account-store.ts";
import { createAccountBindingsController } from "../controllers/policy-binding/controller.ts";
import { createQuotaExportController } from "../controllers/quota-export/controller.ts";
import {
  apiKeyType,
  clusterConnectionType,
  connectionType,
  resourceQuotaExportType,
  serviceAccountType,
} from "../controllers/resource-types.ts";
import { createServiceAccountController } from "../controllers/service-account/controller.ts";
import { type KubeObject, keyOf, type ObjectKey, parseKey } from "../kube/resource.ts";
import type { Store } from "../kube/store/store.ts";
import {
  type Controller,
  type ControllerOptions,
  createController,
} from "../runtime/controller.ts";
import type { Reconcile } from "../runtime/result.ts";
import type { Tracer } from "../util/trace.ts";
import type { Config } from "./config.ts";
import { exposeObjects } from "./object-gauges.ts";
import { createOwnership } from "./own-objects.ts";
import { accountShare, apiKeyShare, connectionShare, isRevocationDue } from "./shares.ts";
import { createWatches, type Watches } from "./watches.ts";

export interface ControllerSet {
  /** From now on, scrapes show the objects that this operator works on. */
  exposeObjects(): void;
  readonly controllers: readonly Controller[];
  readonly apiKeys: ApiKeyController;
}

/** Whether all caches are filled. */
type AllSynced = Pick<Store, "synced">;
/** A kind's own part of its controller. */
type Part<T extends KubeObject> = Pick<ControllerOptions<T>, "name" | "store" | "reconcile"> &
  Partial<ControllerOptions<T>>;
type Start = <T extends KubeObject>(part: Part<T>) => Controller;

/** Puts a queue and workers in front of every reconciler. */
export function createControllers(
  context: Context,
  allSynced: AllSynced,
  registry: ConnectionRegistry,
  config: Config,
  timing: ApiKeyOptions["timing"],
  tracer: Tracer,
): ControllerSet {
  const { caches } = context;
  const isOurs = createOwnership(caches, config.selector);
  const start = starter(context, allSynced, config, isOurs, tracer);
  const watches = createWatches(caches, registry.sessions);
  const board = new ConsumersBoard(consumersMode(config));
  const apiKeys = createApiKeyController(context, {
    enqueue: (key) => apiKeyController.enqueue(parseKey(key)),
    timing: { secretCheckMs: config.secretCheckInterval, ...timing },
    consumers: board,
  });
  const apiKeyController = start({
    name: "ApiKey",
    store: caches.of(apiKeyType),
    reconcile: apiKeys.reconcile,
    onGone: apiKeys.onGone,
    watches: watches.apiKeys,
    resourceOf: (apiKey) => apiKeyShare(caches, apiKey),
    concurrency: config.concurrency,
  });
  const enqueue = (key: ObjectKey) => apiKeyController.enqueue(key);
  const consumers = createConsumersController(context, board, enqueue);
  return {
    apiKeys,
    exposeObjects: () => exposeObjects(context.metrics, caches, isOurs),
    controllers: [
      ...connectionControllers(context, registry, config, watches, start),
      ...accountControllers(context, watches, start),
      apiKeyController,
      // Without permission to look at Pods, nothing is queued and nothing is asked.
      ...(config.consumers === "none"
        ? []
        : [start({ name: "Consumers", store: caches.of(apiKeyType), ...consumers })]),
      start({
        name: "ResourceQuotaExport",
        store: caches.of(resourceQuotaExportType),
        ...createQuotaExportController(
          context,
          (apiKey, signal) => readPair(context, apiKey, signal),
          { perExport: config.quotaSeriesPerExport, total: config.quotaSeries },
        ),
        watches: watches.resourceQuotaExports,
        resourceOf: connectionShare,
      }),
    ],
  };
}

function consumersMode({ consumers, readOnly }: Config): ConsumersMode {
  return readOnly && consumers === "restart" ? "count" : consumers;
}

function connectionControllers(
  context: Context,
  registry: ConnectionRegistry,
  { operatorNamespace }: Config,
  watches: Watches,
  start: Start,
): readonly Controller[] {
  const { caches } = context;
  const sources = { registry, operatorNamespace };
  return [
    start({
      name: "ClusterConnection",
      store: caches.of(clusterConnectionType),
      ...createClusterConnectionController(context, sources),
      watches: watches.clusterConnections,
    }),
    start({
      name: "Connection",
      store: caches.of(connectionType),
      ...createConnectionController(context, sources),
      watches: watches.connections,
    }),
  ];
}

function accountControllers(
  context: Context,
  watches: Watches,
  start: Start,
): readonly Controller[] {
  const { caches } = context;
  const isUrgent = (object: KubeObject) =>
    isRevocationDue(caches, caches.of(serviceAccountType).get(keyOf(object)));
  const accounts: Controller = start({
    name: "ServiceAccount",
    store: caches.of(serviceAccountType),
    ...createServiceAccountController(context, (key) => accounts.enqueue(key)),
    watches: watches.serviceAccounts,
    resourceOf: connectionShare,
  });
  return [
    accounts,
    start({
      name: "PolicyBinding",
      store: createAccountStore(caches),
      ...createAccountBindingsController(context),
      watches: watches.accountBindings,
      predicate: () => true,
      isRequest: ({ new: ref }) => ref?.isRequested === true,
      resourceOf: (ref) => accountShare(caches, keyOf(ref)),
      isUrgent,
    }),
  ];
}

function starter(
  { metrics, clock, random, log }: Context,
  allSynced: AllSynced,
  config: Config,
  isOurs: (object: KubeObject) => boolean,
  tracer: Tracer,
): Start {
  /** Objects of other operators are left alone. */
  const ours =
    <T extends KubeObject>(reconcile: Reconcile<T>): Reconcile<T> =>
    (object, run) =>
      isOurs(object) ? reconcile(object, run) : Promise.resolve({});
  return (part) =>
    createController({
      needs: [allSynced],
      concurrency: Math.ceil(config.concurrency / 4),
      errorPolicy,
      clock,
      random,
      log,
      metrics,
      tracer,
      ...part,
      reconcile: ours(part.reconcile),
    });
}
