/** All kinds over a cluster in memory and the reference console; what anybody has written can be counted. */

import { Registry } from "prom-client";
import { API_VERSION, annotations } from "../../../../src/api/meta.ts";
import { createApiKeyController } from "../../../../src/controllers/api-key/controller.ts";
import { readPair } from "../../../../src/controllers/api-key/read-pair.ts";
import { createClusterConnectionController } from "../../../../src/controllers/connection/controller.ts";
import { createConnections } from "../../../../src/controllers/connection/registry.ts";
import type { Context } from "../../../../src/controllers/frame/context.ts";
import { toRef } from "../../../../src/controllers/policy-binding/account-store.ts";
import { createAccountBindingsController } from "../../../../src/controllers/policy-binding/controller.ts";
import { createQuotaExportController } from "../../../../src/controllers/quota-export/controller.ts";
import {
  apiKeyType,
  clusterConnectionType,
  policyBindingType,
  resourceQuotaExportType,
  secretType,
  serviceAccountType,
} from "../../../../src/controllers/resource-types.ts";
import { createServiceAccountController } from "../../../../src/controllers/service-account/controller.ts";
import { createIamClient } from "../../../../src/iam/client/console-client.ts";
import type { KubeObject, ObjectKey, ResourceType } from "../../../../src/kube/resource.ts";
import { createMetrics } from "../../../../src/observability/metrics.ts";
import { silentLog } from "../../../../src/util/log.ts";
import { systemRandom } from "../../../../src/util/random.ts";
import { systemClock } from "../../../../src/util/time.ts";
import { DEFAULT_CREDENTIALS, SEEDED } from "../../../../tools/iam-server/seed.ts";
import { startIamServer } from "../../../../tools/iam-server/server.ts";
import { MemoryCluster } from "../../../support/memory-cluster.ts";

// biome-ignore lint/suspicious/noExplicitAny: objects as they travel
type Raw = any;

const NAMESPACE = "team";
const ACCOUNT = "/api/v1/iam/authn/service-accounts/{saId}";
const EXTRA_CALLS = {
  disableKey: { method: "POST", path: `${ACCOUNT}/keys/{keyId}/disable` },
  deleteKey: { method: "DELETE", path: `${ACCOUNT}/keys/{keyId}` },
  deleteServiceAccount: { method: "DELETE", path: ACCOUNT },
} as const;
const WRITING = [
  "createServiceAccount",
  "issueKey",
  "syncBindings",
  "disableKey",
  "deleteKey",
  "deleteServiceAccount",
];

export const types = {
  ServiceAccount: serviceAccountType,
  PolicyBinding: policyBindingType,
  ApiKey: apiKeyType,
  ResourceQuotaExport: resourceQuotaExportType,
} as const;
export type KindName = keyof typeof types;

export type PlanningWorld = Awaited<ReturnType<typeof planningWorld>>;

export async function planningWorld({ readOnly = false } = {}) {
  const console = await startIamServer({ clock: systemClock, extraCalls: EXTRA_CALLS });
  const cluster = new MemoryCluster(systemClock);
  const caches = cluster.openCaches();
  const connections = createConnections({
    caches,
    clock: systemClock,
    log: silentLog,
    createClient: (settings) =>
      createIamClient({ ...settings, clock: systemClock, random: systemRandom, userAgent: "test" }),
  });
  const events: string[] = [];
  const context: Context = {
    kube: cluster.client,
    caches,
    connections,
    events: { record: (_, { reason }) => void events.push(reason) },
    metrics: createMetrics(new Registry()),
    log: silentLog,
    clock: systemClock,
    random: systemRandom,
    readOnly,
  };
  const clusterConnections = createClusterConnectionController(context, {
    registry: connections,
    operatorNamespace: NAMESPACE,
  });
  const bindings = createAccountBindingsController(context);
  const reconcilers = {
    ServiceAccount: createServiceAccountController(context),
    ApiKey: createApiKeyController(context, { enqueue: () => undefined }),
    ResourceQuotaExport: createQuotaExportController(
      context,
      (apiKey, signal) => readPair(context, apiKey, signal),
      { perExport: 5_000, total: 50_000 },
    ),
  };
  const run = () => ({ id: "test", signal: AbortSignal.timeout(60_000) });
  const keyOf = (name: string): ObjectKey => ({ namespace: NAMESPACE, name });
  const peek = (kind: KindName, name: string): Raw => cluster.peek(types[kind], keyOf(name));

  cluster.put(secretType, secret("login", DEFAULT_CREDENTIALS));
  cluster.put(clusterConnectionType, {
    apiVersion: API_VERSION,
    kind: "ClusterConnection",
    metadata: { name: "default" },
    spec: {
      baseURL: console.url,
      insecureHTTP: true,
      orgId: SEEDED.orgId,
      projectId: SEEDED.projectId,
      domainName: SEEDED.orgName,
      credentials: { login: { secretRef: { name: "login" } } },
      grants: [
        {
          name: "all",
          namespaces: { names: [NAMESPACE] },
          policyIds: ["*"],
          importServiceAccounts: true,
          quotaExports: [7],
        },
      ],
      extraCalls: EXTRA_CALLS,
    },
  });

  return {
    cluster,
    console,
    context,
    events,
    peek,
    calls: () =>
      console.requests.all
        .map(({ operation }) => operation ?? "unknown")
        .filter((operation) => WRITING.includes(operation) || operation === "unknown"),
    /** What was written to the cluster that is no status. */
    writes: () =>
      cluster.writes
        .filter(({ status }) => !status)
        .map(({ verb, plural, name }) => `${verb} ${plural}/${name}`),
    delete: (kind: KindName, name: string) => cluster.remove(types[kind], keyOf(name)),
    /** What the administrator lets the namespace do from now on. */
    async grant(changes: object): Promise<void> {
      cluster.edit(clusterConnectionType, { namespace: "", name: "default" }, ({ spec }) => {
        Object.assign(spec.grants[0], changes);
      });
      await this.connect();
    },
    async connect(): Promise<void> {
      const object = caches.of(clusterConnectionType).get({ namespace: "", name: "default" });
      if (object !== undefined) await clusterConnections.reconcile(object, run());
    },
    put(kind: KindName, name: string, spec: object, isPlanOnly = false): void {
      const stored = peek(kind, name);
      const planned = { annotations: { [annotations.planOnly]: String(isPlanOnly) } };
      cluster.put(types[kind], {
        apiVersion: API_VERSION,
        kind,
        metadata: { ...stored?.metadata, name, namespace: NAMESPACE, ...planned },
        spec,
        ...(stored?.status === undefined ? {} : { status: stored.status }),
      });
    },
    /** One run over it, and what it is then. */
    async reconcile(kind: KindName, name: string): Promise<Raw> {
      if (kind === "PolicyBinding") {
        const account = peek(kind, name).spec.serviceAccountRef.name;
        await bindings.reconcile(toRef(keyOf(account)), run());
        return peek(kind, name);
      }
      const type: ResourceType<KubeObject> = types[kind];
      const object = await cluster.client.get(type, keyOf(name));
      await reconcilers[kind].reconcile(object as never, run());
      return peek(kind, name);
    },
    async close(): Promise<void> {
      await connections.close();
      await console.close();
    },
  };
}

export function plannedCalls(object: Raw): readonly string[] | undefined {
  return object.status.plan?.calls.map(({ call, object: about }: Raw) => `${call} ${about}`);
}

/** `Ready=False PlanOnly`, as kubectl would print it; with Stalled where it is. */
export function standing(object: Raw): string {
  const conditions: readonly Raw[] = object.status.conditions;
  const ready = conditions.find(({ type }) => type === "Ready");
  const others = conditions.filter(({ type }) => ["Stalled", "Reconciling"].includes(type));
  return [`Ready=${ready.status}`, ready.reason, ...others.map(({ type }) => type)].join(" ");
}

function secret(name: string, values: object): Raw {
  const data = Object.entries(values).map(([key, value]) => [
    key,
    Buffer.from(String(value)).toString("base64"),
  ]);
  return { metadata: { name, namespace: NAMESPACE }, data: Object.fromEntries(data) };
}
