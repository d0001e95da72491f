import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { exposeObjects } from "../../../src/app/object-gauges.ts";
import { createSharding } from "../../../src/app/sharding.ts";
import { kinds } from "../../../src/kinds/kinds.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";
import {
  apiKeyType,
  clusterConnectionType,
  policyBindingType,
  serviceAccountType,
} from "../../../src/resources/resource-types.ts";
import { systemClock } from "../../../src/util/time.ts";
import { cachesWith } from "../../support/caches-with.ts";
import { MemoryCluster } from "../../support/memory-cluster.ts";
import { connectionSpec } from "../kinds/connection/specs.ts";

const condition = (type: string, status: "True" | "False") => ({
  type,
  status,
  reason: "Because",
  message: "",
  lastTransitionTime: "2026-01-01T00:00:00Z",
});
const ready = { conditions: [condition("Ready", "True")] };
const metadata = (name: string, labels = {}) => ({ namespace: "team", name, labels });
const apiKey = (name: string, status: object, account = "bot") => ({
  metadata: metadata(name),
  spec: { serviceAccountRef: { name: account } },
  status,
});
const superseded = (keyId: string, state: string) => ({
  keyId,
  state,
  issueTime: "2025-12-01T00:00:00Z",
  supersededTime: "2026-01-01T00:00:00Z",
  expirationTime: "2026-03-01T00:00:00Z",
});

function setUp(selector = "") {
  const cluster = new MemoryCluster(systemClock);
  const caches = cluster.openCaches();
  const metrics = createMetrics(new Registry());
  exposeObjects(metrics, kinds, caches, createSharding(kinds, caches, selector));
  const samples = async () =>
    (await metrics.render())
      .split("\n")
      .filter((line) => /^iam_operator_.*name="/.test(line))
      .map((line) => line.replace(/^iam_operator_/, "").replace('namespace="team",', ""))
      .sort();
  return { cluster, samples };
}

test("gauges say what the statuses say", async () => {
  const { cluster, samples } = setUp();
  cluster.put(clusterConnectionType, {
    metadata: { name: "main" },
    spec: connectionSpec(),
    status: ready,
  });
  cluster.put(
    apiKeyType,
    apiKey("used", {
      conditions: [condition("Ready", "True"), condition("IssuanceAllowed", "False")],
      current: {
        keyId: "k3",
        revision: 3,
        issueTime: "2026-01-01T00:00:00Z",
        expirationTime: "2026-04-01T00:00:00Z",
      },
      renewalTime: "2026-03-01T00:00:00Z",
      orphanCount: 2,
      superseded: [superseded("k1", "Deleted"), superseded("k2", "Live")],
      consumers: { pods: 4, stale: 1 },
    }),
  );
  expect(await samples()).toEqual([
    'apikey_expiration_timestamp_seconds{name="used"} 1775001600',
    'apikey_issuance_allowed{name="used"} 0',
    'apikey_ready{name="used"} 1',
    'apikey_renewal_timestamp_seconds{name="used"} 1772323200',
    'consumers{name="used"} 4',
    'object_ready{kind="ApiKey",name="used"} 1',
    'object_ready{kind="ClusterConnection",namespace="",name="main"} 1',
    'orphaned_keys{name="used"} 2',
    'stale_consumers{name="used"} 1',
    'superseded_live_keys{name="used"} 1',
  ]);
});

test("an object has its series from its creation to its end", async () => {
  const { cluster, samples } = setUp();
  expect(await samples()).toEqual([]);
  cluster.put(apiKeyType, apiKey("new", {}));
  expect(await samples()).toEqual([
    'apikey_ready{name="new"} 0',
    'object_ready{kind="ApiKey",name="new"} 0',
    'orphaned_keys{name="new"} 0',
    'superseded_live_keys{name="new"} 0',
  ]);
  cluster.remove(apiKeyType, { namespace: "team", name: "new" });
  expect(await samples()).toEqual([]);
});

test.each<["True" | "False", string, number | undefined]>([
  ["True", "Allowed", 1],
  ["False", "BudgetExceeded", 0],
  ["False", "Suspended", undefined],
  ["False", "PlanOnly", undefined],
])("the forecast %s %s is %s", async (status, reason, value) => {
  const { cluster, samples } = setUp();
  const forecast = { ...condition("IssuanceAllowed", status), reason };
  cluster.put(apiKeyType, apiKey("used", { conditions: [forecast] }));
  const found = (await samples()).filter((line) => line.startsWith("apikey_issuance_allowed"));
  expect(found).toEqual(
    value === undefined ? [] : [`apikey_issuance_allowed{name="used"} ${value}`],
  );
});

test("a stored status that cannot be read has no series, and the others have theirs", async () => {
  const broken = {
    kind: "ApiKey",
    metadata: metadata("broken"),
    status: { conditions: {}, superseded: null },
  };
  const sound = { kind: "ApiKey", metadata: metadata("sound"), status: ready };
  const nothing = { list: () => [] };
  const stores = kinds.map(({ type: { plural } }) => [plural, nothing] as const);
  const apikeys = { list: () => [broken, sound] };
  const caches = cachesWith({ ...Object.fromEntries(stores), apikeys });
  const metrics = createMetrics(new Registry());
  exposeObjects(metrics, kinds, caches, () => true);
  const text = await metrics.render();
  expect(text).toContain('object_ready{kind="ApiKey",namespace="team",name="sound"} 1');
  expect(text).toContain('superseded_live_keys{namespace="team",name="sound"} 0');
  expect(text).not.toContain('superseded_live_keys{namespace="team",name="broken"}');
});

test("objects of other operators are theirs to show, by the labels of the account", async () => {
  const { cluster, samples } = setUp("shard=a");
  const account = { spec: {}, status: ready };
  cluster.put(serviceAccountType, { metadata: metadata("ours", { shard: "a" }), ...account });
  cluster.put(serviceAccountType, { metadata: metadata("theirs", { shard: "b" }), ...account });
  for (const name of ["ours", "theirs"]) {
    cluster.put(apiKeyType, apiKey(`key-of-${name}`, ready, name));
    cluster.put(policyBindingType, {
      metadata: metadata(`binding-of-${name}`),
      spec: { serviceAccountRef: { name }, policyIds: ["p"] },
      status: ready,
    });
  }
  const shown = (await samples()).filter((line) => line.startsWith("object_ready"));
  expect(shown).toEqual([
    'object_ready{kind="ApiKey",name="key-of-ours"} 1',
    'object_ready{kind="PolicyBinding",name="binding-of-ours"} 1',
    'object_ready{kind="ServiceAccount",name="ours"} 1',
  ]);
});
