/** A controller for every kind: its reconciler behind a queue and workers. */

import { ConsumersBoard, type ConsumersMode } from "../consumers/board.ts";
import { createConsumersController } from "../consumers/controller.ts";
import type { DeletedIssues } from "../kinds/api-key/deleted-issues.ts";
import { readPair } from "../kinds/api-key/read-pair.ts";
import type { Timing } from "../kinds/api-key/timing.ts";
import type { ConnectionRegistry } from "../kinds/connection/registry.ts";
import type { AnyKind, KindParts } from "../kinds/kinds.ts";
import type { KubeObject, ObjectKey } from "../kube/resource.ts";
import type { Store } from "../kube/store/store.ts";
import type { Context } from "../reconciler/context.ts";
import type { Unsaved } from "../reconciler/kind-module.ts";
import { errorPolicy } from "../reconciler/rules/error-policy.ts";
import { apiKeyType } from "../resources/resource-types.ts";
import {
  type Controller,
  type ControllerOptions,
  createController,
} from "../runtime/controller.ts";
import type { Reconcile } from "../runtime/result.ts";
import type { Tracer } from "../util/trace.ts";
import type { Config } from "./config.ts";
import { exposeObjects } from "./object-gauges.ts";
import { createSharding } from "./sharding.ts";

export interface ControllerSet {
  /** From now on, scrapes show the objects that this operator reconciles. */
  exposeObjects(): void;
  readonly controllers: readonly Controller[];
  /** Issued keys that would be lost with the process. */
  readonly unsaved: readonly Unsaved[];
}

interface ControllersOptions {
  readonly kinds: readonly AnyKind[];
  readonly context: Context;
  /** Whether all caches are filled. */
  readonly cache: Pick<Store, "synced">;
  readonly registry: ConnectionRegistry;
  readonly config: Config;
  readonly timing?: Partial<Timing>;
  readonly deletedIssues?: DeletedIssues;
  readonly tracer: Tracer;
}

/** A kind's own part of its controller. */
type Part<T extends KubeObject> = Pick<ControllerOptions<T>, "name" | "store" | "reconcile"> &
  Partial<ControllerOptions<T>>;
type Start = <T extends KubeObject>(part: Part<T>) => Controller;

export function createControllers(options: ControllersOptions): ControllerSet {
  const { kinds, context, config } = options;
  const { caches, metrics } = context;
  const isOurs = createSharding(kinds, caches, config.selector);
  const start = starter(options, isOurs);
  const consumers = new ConsumersBoard(consumersMode(config));
  const parts = partsOf(options, consumers);
  const running = kinds.map((kind) => createKind(kind, options, parts, start));
  const enqueueApiKey = (key: ObjectKey) =>
    running.find(({ controller }) => controller.name === apiKeyType.kind)?.controller.enqueue(key);
  const counting = createConsumersController(context, consumers, enqueueApiKey);
  return {
    unsaved: running.flatMap(({ unsaved }) => unsaved ?? []),
    exposeObjects: () => exposeObjects(metrics, kinds, caches, isOurs),
    controllers: [
      ...running.map(({ controller }) => controller),
      // Without permission to read Pods, nothing is queued and no Pods are read.
      ...(config.consumers === "none"
        ? []
        : [start({ name: "Consumers", store: caches.of(apiKeyType), ...counting })]),
    ],
  };
}

function createKind(
  kind: AnyKind,
  { context, config }: ControllersOptions,
  parts: KindParts,
  start: Start,
): { readonly controller: Controller; readonly unsaved: Unsaved | undefined } {
  const { type } = kind;
  const { caches } = context;
  const { isMain = false, ...queue } = kind.queue?.(caches) ?? {};
  const enqueue = (key: ObjectKey) => controller.enqueue(key);
  const { unsaved, ...reconciler } = kind.reconciler(context, parts, enqueue);
  const controller: Controller = start({
    name: type.kind,
    store: caches.of(type),
    watches: kind.watches?.(caches, parts) ?? [],
    ...(isMain ? { concurrency: config.concurrency } : {}),
    ...queue,
    ...reconciler,
  });
  return { controller, unsaved };
}

/** The parts that kinds need in addition to the Context. */
function partsOf(
  { context, registry, config, timing, deletedIssues }: ControllersOptions,
  consumers: ConsumersBoard,
): KindParts {
  return {
    registry,
    access: registry.sessions,
    operatorNamespace: config.operatorNamespace,
    timing: { secretCheckMs: config.secretCheckInterval, ...timing },
    ...(deletedIssues === undefined ? {} : { deletedIssues }),
    consumers,
    readPair: (apiKey, signal) => readPair(context, apiKey, signal),
    seriesLimits: { perExport: config.quotaSeriesPerExport, total: config.quotaSeries },
  };
}

function consumersMode({ consumers, readOnly }: Config): ConsumersMode {
  return readOnly && consumers === "restart" ? "count" : consumers;
}

function starter(
  { context, cache, config, tracer }: ControllersOptions,
  isOurs: (object: KubeObject) => boolean,
): Start {
  const { metrics, clock, random, log } = context;
  /** Ignores the objects of other operators. */
  const ours =
    <T extends KubeObject>(reconcile: Reconcile<T>): Reconcile<T> =>
    (object, run) =>
      isOurs(object) ? reconcile(object, run) : Promise.resolve({});
  return (part) =>
    createController({
      needs: [cache],
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
