/** One namespace, one reference console, and the quota-export reconciler between them. */
import { Registry } from "prom-client";
import { API_VERSION } from "../../../../src/api/meta.ts";
import { ALL_RIGHTS } from "../../../../src/controllers/connection/rules/effective-grant.ts";
import type { Context } from "../../../../src/controllers/frame/context.ts";
import { createQuotaExportController } from "../../../../src/controllers/quota-export/controller.ts";
import {
  apiKeyType,
  resourceQuotaExportType,
  serviceAccountType,
} from "../../../../src/controllers/resource-types.ts";
import type { KeyPair } from "../../../../src/iam/model.ts";
import { createMetrics } from "../../../../src/observability/metrics.ts";
import { silentLog } from "../../../../src/util/log.ts";
import { Redacted } from "../../../../src/util/redacted.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { MemoryCluster } from "../../../support/memory-cluster.ts";
import { clientOf, startConsole } from "../../iam/clients.ts";

const KEY = { namespace: "team-a", name: "quotas" };

export async function exportWorld(limits = { perExport: 5_000, total: 50_000 }) {
  const console = await startConsole();
  const client = clientOf(console);
  const clock = createFakeClock();
  const kube = new MemoryCluster(clock);
  const metrics = createMetrics(new Registry());
  const pairs = new Map<string, KeyPair>();
  const events: string[] = [];
  const context: Context = {
    kube: kube.client,
    caches: kube.openCaches(),
    connections: {
      resolve: async () => ({
        ok: true,
        access: { client, spec: {} as never, grant: ALL_RIGHTS },
      }),
    },
    events: { record: (_, { reason }) => void events.push(reason) },
    metrics,
    log: silentLog,
    clock,
    random: { fraction: () => 0.5, id: () => "id" },
  };
  const create = () =>
    createQuotaExportController(context, async ({ metadata }) => pairs.get(metadata.name), limits);
  let reconciler = create();
  const object = () => kube.peek(resourceQuotaExportType, KEY);
  return {
    console,
    kube,
    clock,
    metrics,
    events,
    pairs,
    object,
    put: (spec: object = {}, metadata: object = {}) => {
      const old = object();
      kube.put(resourceQuotaExportType, {
        ...old,
        apiVersion: API_VERSION,
        kind: "ResourceQuotaExport",
        metadata: { ...old?.metadata, ...KEY, ...metadata },
        spec: { clusterId: 7, ...old?.spec, ...spec },
      });
    },
    /** A service account with a key at the console, and both as objects. */
    issue: (policyIds: readonly string[], connection = "default") => {
      const account = console.world.createAccount({
        orgId: "org-1",
        projectId: "prj-1",
        name: `${KEY.namespace}-ci-bot`,
        description: "",
      });
      const { key, secret } = console.world.issueKey(account.saId, {
        description: "",
        expiresInDays: 90,
      });
      console.world.replaceBindings(account.tpn, policyIds);
      pairs.set("ci-key", { keyId: key.keyId, secret: new Redacted(secret) });
      kube.put(serviceAccountType, {
        metadata: { namespace: KEY.namespace, name: "ci-bot" },
        spec: { connectionRef: { kind: "ClusterConnection", name: connection } },
        status: { saId: account.saId, bindings: { policyCount: policyIds.length } },
      });
      kube.put(apiKeyType, {
        metadata: { namespace: KEY.namespace, name: "ci-key" },
        spec: { serviceAccountRef: { name: "ci-bot" } },
        status: {
          current: {
            keyId: key.keyId,
            issueTime: "2026-01-01T00:00:00Z",
            expirationTime: "2026-04-01T00:00:00Z",
            revision: 1,
          },
        },
      });
      return key;
    },
    pass: () =>
      reconciler.reconcile(object(), { id: "pass", signal: new AbortController().signal }),
    forget: () => reconciler.onGone(KEY),
    restart: () => {
      reconciler = create();
    },
    listings: () => console.requests.count("listResourceQuotas"),
    ready: () => conditionOf(object()),
  };
}

function conditionOf(object: { status?: { conditions?: { type: string }[] } } | undefined) {
  return object?.status?.conditions?.find(({ type }) => type === "Ready") as
    | { readonly reason: string; readonly message: string }
    | undefined;
}
