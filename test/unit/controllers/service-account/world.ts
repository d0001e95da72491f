/** An API server in memory, a reference console and the reconcilers under test, which run when a test says so. */
import { Registry } from "prom-client";
import type { ClusterConnection } from "../../../../src/api/connection.ts";
import { API_VERSION } from "../../../../src/api/meta.ts";
import type { ServiceAccount } from "../../../../src/api/service-account.ts";
import { createClusterConnectionController } from "../../../../src/controllers/connection/controller.ts";
import { createConnections } from "../../../../src/controllers/connection/registry.ts";
import type { Context } from "../../../../src/controllers/frame/context.ts";
import {
  apiKeyType,
  clusterConnectionType,
  namespaceType,
  secretType,
  serviceAccountType,
} from "../../../../src/controllers/resource-types.ts";
import { createServiceAccountController } from "../../../../src/controllers/service-account/controller.ts";
import { createIamClient } from "../../../../src/iam/client/console-client.ts";
import { createMetrics } from "../../../../src/observability/metrics.ts";
import type { Result } from "../../../../src/runtime/result.ts";
import { silentLog } from "../../../../src/util/log.ts";
import { systemRandom } from "../../../../src/util/random.ts";
import { type Clock, systemClock } from "../../../../src/util/time.ts";
import { DEFAULT_CREDENTIALS, SEEDED } from "../../../iam-server/seed.ts";
import { type IamServerOptions, startIamServer } from "../../../iam-server/server.ts";
import { MemoryCluster } from "../../../support/memory-cluster.ts";

export type World = Awaited<ReturnType<typeof createWorld>>;

export async function createWorld(options: IamServerOptions = {}) {
  const time = { offsetMs: 0 };
  const clock: Clock = { ...systemClock, now: () => Date.now() + time.offsetMs };
  const console = await startIamServer({ clock, ...options });
  const cluster = new MemoryCluster(clock);
  const kube = cluster.client;
  const namespace = "team";
  cluster.put(namespaceType, { metadata: { name: namespace } });
  const caches = cluster.openCaches();
  const connections = createConnections({
    caches,
    clock,
    log: silentLog,
    createClient: (settings) =>
      createIamClient({
        ...settings,
        clock,
        random: systemRandom,
        userAgent: "iam-operator/test",
      }),
  });
  const events: string[] = [];
  const context: Context = {
    kube,
    caches,
    connections,
    events: {
      record: (_, { type, reason, note }) => void events.push(`${type} ${reason}: ${note}`),
    },
    metrics: createMetrics(new Registry()),
    log: silentLog,
    clock,
    random: systemRandom,
  };
  const deps = { registry: connections, operatorNamespace: namespace };
  const connectionController = createClusterConnectionController(context, deps);
  const accounts = createServiceAccountController(context);
  const pass = { id: "test", signal: AbortSignal.timeout(60_000) };
  const connectionKey = { namespace: "", name: namespace };

  return {
    console,
    cluster,
    namespace,
    kube,
    events,
    context,
    /** How many calls the console has had so far. */
    calls: () => console.requests.all.length,
    issueKey: (saId: string) =>
      console.world.issueKey(saId, { description: "", expiresInDays: 1 }).key,
    /** Moves the operator's and the console's clock. */
    advance: (ms: number) => {
      time.offsetMs += ms;
    },
    async putLogin(changes: object = {}): Promise<void> {
      const values = Object.entries({ ...DEFAULT_CREDENTIALS, ...changes });
      await kube.apply(
        secretType,
        toSecret("console-login", namespace, Object.fromEntries(values)),
        { fieldManager: "test" },
      );
    },
    async putConnection(changes: object = {}): Promise<void> {
      const spec = {
        baseURL: console.url,
        insecureHTTP: true,
        orgId: SEEDED.orgId,
        projectId: SEEDED.projectId,
        domainName: SEEDED.orgName,
        credentials: { login: { secretRef: { name: "console-login" } } },
        grants: [{ name: "all", namespaces: { names: [namespace] }, importServiceAccounts: true }],
        ...changes,
      };
      const body = {
        apiVersion: API_VERSION,
        kind: "ClusterConnection",
        metadata: { name: namespace },
        spec,
      };
      await kube.apply(clusterConnectionType, body, { fieldManager: "test" });
    },
    async putAccount(name: string, spec: object = {}, where = namespace): Promise<void> {
      const connectionRef = { kind: "ClusterConnection", name: namespace };
      const body = {
        apiVersion: API_VERSION,
        kind: "ServiceAccount",
        metadata: { name, namespace: where },
        spec: { connectionRef, ...spec },
      };
      await kube.apply(serviceAccountType, body, { fieldManager: "test" });
    },
    async putKey(name: string, account: string): Promise<void> {
      const body = {
        apiVersion: API_VERSION,
        kind: "ApiKey",
        metadata: { name, namespace },
        spec: { serviceAccountRef: { name: account } },
      };
      await kube.apply(apiKeyType, body, { fieldManager: "test" });
    },
    async wipeStatus(name: string, left: object = {}): Promise<void> {
      const object = await kube.get(serviceAccountType, { namespace, name });
      const metadata = { name, namespace, uid: object?.metadata.uid ?? "" };
      const status = { observedGeneration: 1, ...left };
      const body = { apiVersion: API_VERSION, kind: "ServiceAccount", metadata, status };
      await kube.apply(serviceAccountType, body as typeof body, { subresource: "status" });
    },
    /** One pass over the connection, and what it is then. */
    async connect(): Promise<ClusterConnection | undefined> {
      const object = caches.of(clusterConnectionType).get(connectionKey);
      if (object !== undefined) await connectionController.reconcile(object, pass);
      return kube.get(clusterConnectionType, connectionKey);
    },
    /** One pass over an object, and what it is then. */
    async reconcile(
      name: string,
      where = namespace,
    ): Promise<{ object: ServiceAccount | undefined; result: Result | undefined; error: unknown }> {
      const key = { namespace: where, name };
      const stored = caches.of(serviceAccountType).get(key);
      let result: Result | undefined;
      let error: unknown;
      try {
        if (stored !== undefined) result = await accounts.reconcile(stored, pass);
      } catch (thrown) {
        error = thrown;
      }
      return { object: await kube.get(serviceAccountType, key), result, error };
    },
    async stop(): Promise<void> {
      await connections.close();
      await console.close();
    },
  };
}

function toSecret(name: string, namespace: string, values: Record<string, string>) {
  const data = Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
  );
  return { apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, data };
}

/** `Ready=True Created`, as kubectl would print it. */
export function ready(
  object:
    | {
        status?:
          | { conditions?: readonly { type: string; status: string; reason: string }[] | undefined }
          | undefined;
      }
    | undefined,
): string {
  const condition = object?.status?.conditions?.find(({ type }) => type === "Ready");
  return condition === undefined ? "none" : `Ready=${condition.status} ${condition.reason}`;
}
