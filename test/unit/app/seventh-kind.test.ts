/** A kind is added by its module: nothing else of the operator has to know it. */
import { Registry } from "prom-client";
import { afterEach, expect, test, vi } from "vitest";
import { API_VERSION, GROUP, type IamObject, VERSION } from "../../../src/api/meta.ts";
import { readCommand } from "../../../src/app/config.ts";
import { createControllers } from "../../../src/app/controllers.ts";
import { connectionOf } from "../../../src/connections/connection-key.ts";
import { createConnections } from "../../../src/kinds/connection/registry.ts";
import { kinds } from "../../../src/kinds/kinds.ts";
import { keyOf, keyText, type ResourceType } from "../../../src/kube/resource.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";
import type { Context } from "../../../src/reconciler/context.ts";
import type { KindDefinition } from "../../../src/reconciler/kind-definition.ts";
import { defineModule } from "../../../src/reconciler/kind-module.ts";
import { createReconciler } from "../../../src/reconciler/reconciler.ts";
import type { CommonStatus } from "../../../src/reconciler/rules/report.ts";
import { samplesOf } from "../../../src/reconciler/samples.ts";
import { type AccessParts, accessWatches } from "../../../src/resources/access-watches.ts";
import { indexes } from "../../../src/resources/indexes.ts";
import { connectionResource } from "../../../src/resources/queue-resources.ts";
import { accountKey, indexedAs } from "../../../src/resources/refs.ts";
import {
  clusterConnectionType,
  serviceAccountType,
} from "../../../src/resources/resource-types.ts";
import { watch } from "../../../src/runtime/watch.ts";
import { silentLog } from "../../../src/util/log.ts";
import { systemRandom } from "../../../src/util/random.ts";
import { systemClock } from "../../../src/util/time.ts";
import { noTracer } from "../../../src/util/trace.ts";
import { readCustomKinds, type ServedKind } from "../../../tools/api-server/kinds.ts";
import { MemoryCluster } from "../../support/memory-cluster.ts";
import { rawSpec } from "../kinds/connection/specs.ts";

interface GadgetStatus extends CommonStatus {
  readonly accountId?: string;
}
type Gadget = IamObject<
  {
    readonly suspend: boolean;
    readonly connectionRef?: { readonly kind?: string; readonly name?: string };
    readonly serviceAccountRef: { readonly name: string };
  },
  GadgetStatus
>;

/** Reports the ID of its account. */
interface GadgetKind {
  readonly Object: Gadget;
  readonly Spec: Gadget["spec"];
  readonly Snapshot: { readonly object: Gadget; readonly accountId: string | undefined };
  readonly State: undefined;
}

const gadgetType: ResourceType<Gadget> = {
  group: GROUP,
  version: VERSION,
  plural: "gadgets",
  kind: "Gadget",
  namespaced: true,
};

const controller: KindDefinition<GadgetKind> = {
  type: gadgetType,
  parse: ({ spec }) => ({ ok: true, spec }),
  observe: async (object, { serviceAccountRef: { name } }, { caches }) => {
    const { namespace } = keyOf(object);
    const account = caches.of(serviceAccountType).get({ namespace, name });
    return { object, accountId: account?.status?.saId };
  },
  // biome-ignore lint/correctness/useYield: it has no effects
  *run(snapshot) {
    const noAccount = {
      state: "Reconciling",
      reason: "NoAccount",
      message: "No account yet.",
    } as const;
    const isFound = snapshot.accountId !== undefined;
    const end = isFound ? { kind: "Settled" as const } : { kind: "Waiting" as const, ...noAccount };
    return { snapshot, end };
  },
  report: ({ object, accountId }, outcome) => {
    const readiness =
      outcome.kind === "Waiting"
        ? outcome
        : ({ state: "Ready", reason: "Found", message: "The account exists." } as const);
    const status = accountId === undefined ? {} : { accountId };
    return { objects: [{ type: gadgetType, object, status, readiness }] };
  },
};

const gadgets = defineModule<Gadget, AccessParts>({
  type: gadgetType,
  cache: {
    indexes: {
      [indexes.connection]: connectionOf,
      [indexes.serviceAccount]: (gadget) => indexedAs(accountKey(gadget)),
    },
  },
  watches: (caches, parts) => [
    ...accessWatches(gadgetType, caches, parts),
    watch(caches.of(serviceAccountType), ({ key }) =>
      caches.of(gadgetType).byIndex(indexes.serviceAccount, keyText(key)).map(keyOf),
    ),
  ],
  queue: () => ({ resourceOf: connectionResource }),
  gauges: ({ consumers }, objects) =>
    consumers.collectFrom(() =>
      samplesOf(objects(), ({ accountId }) => (accountId === undefined ? 0 : 1)),
    ),
  reconciler: (context) => createReconciler(controller, context),
});

const servedGadgets: ServedKind = {
  type: gadgetType,
  schema: {
    type: "object",
    properties: {
      ...readCustomKinds()[0]?.schema.properties,
      spec: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    },
  },
  custom: true,
  hasStatus: true,
  hasGeneration: true,
};

const working = new AbortController();
afterEach(() => working.abort());

function startOperator() {
  const all = [...kinds, gadgets];
  const cluster = new MemoryCluster(systemClock, {
    kinds: all,
    served: [...readCustomKinds(), servedGadgets],
  });
  const caches = cluster.openCaches();
  const metrics = createMetrics(new Registry());
  const time = { clock: systemClock, log: silentLog };
  const createClient = () => {
    throw new Error("there is no console");
  };
  const registry = createConnections({ caches, ...time, createClient });
  const context: Context = {
    kube: cluster.client,
    caches,
    connections: registry,
    events: { record: () => undefined },
    metrics,
    ...time,
    random: systemRandom,
  };
  const command = readCommand([], {});
  if (command.kind !== "Run") throw new Error(command.kind);
  const set = createControllers({
    kinds: all,
    context,
    cache: { synced: true },
    registry,
    config: command.config,
    tracer: noTracer,
  });
  set.exposeObjects();
  for (const each of set.controllers) each.start(working.signal);
  return { cluster, metrics };
}

test("a kind that only its module names is reconciled, watched, measured, and counted as a user", async () => {
  const { cluster, metrics } = startOperator();
  const key = { namespace: "team-a", name: "one" };
  const account = { namespace: "team-a", name: "bot" };
  const grants = [{ name: "a", namespaces: { names: ["team-a"] }, policyIds: ["p"] }];
  const connection = { metadata: { name: "default" }, spec: { ...rawSpec, grants } };
  cluster.put(clusterConnectionType, connection);
  const typed = { apiVersion: API_VERSION, kind: gadgetType.kind, metadata: key };
  const spec = { suspend: false, serviceAccountRef: { name: account.name } };
  cluster.put(gadgetType, { ...typed, spec });
  const readyOf = () => cluster.peek(gadgetType, key).status?.conditions?.[0];
  await vi.waitFor(() => expect(readyOf()).toMatchObject({ type: "Ready", reason: "NoAccount" }));
  // A change of another object, by the module's watch.
  const connectionRef = { kind: "ClusterConnection", name: "default" };
  cluster.put(serviceAccountType, {
    metadata: account,
    spec: { connectionRef },
    status: { saId: "sa-1" },
  });
  await vi.waitFor(() => expect(readyOf()).toMatchObject({ status: "True", reason: "Found" }));
  expect(cluster.peek(gadgetType, key).status).toMatchObject({ accountId: "sa-1" });
  const text = await metrics.render();
  expect(text).toContain('object_ready{kind="Gadget",namespace="team-a",name="one"} 1');
  expect(text).toMatch(/_consumers\w*\{namespace="team-a",name="one"\} 1/);
  expect(text).toContain('controller_runtime_active_workers{controller="Gadget"}');
  // Its connection counts it, by the index that names it.
  await vi.waitFor(() => {
    const { status } = cluster.peek(clusterConnectionType, { name: "default" });
    expect(status?.users).toBe(2);
  });
  // And the deletion of its account waits for it.
  cluster.edit(serviceAccountType, account, ({ metadata }) => {
    metadata.finalizers = ["iam-operator.io/finalizer"];
  });
  cluster.remove(serviceAccountType, account);
  await vi.waitFor(() => {
    const { status } = cluster.peek(serviceAccountType, account);
    expect(JSON.stringify(status?.conditions)).toContain("Gadget one");
  });
});
