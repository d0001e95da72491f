/** The verdicts on objects that the operator's own controllers have written, and on every version on the way there. */
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { isTrue } from "../../../src/api/conditions.ts";
import type { MemoryCluster } from "../../support/memory-cluster.ts";
import { KeyWorld } from "../../unit/controllers/api-key/world.ts";
import {
  accountWorld,
  type WorldOptions,
} from "../../unit/controllers/policy-binding/account-world.ts";
import { exportWorld } from "../../unit/controllers/quota-export/world.ts";
import { createWorld, type World } from "../../unit/controllers/service-account/world.ts";
import { kstatusOf, type Verdict } from "./kstatus.ts";

type Judgement = Verdict["status"];
/** A world in which the operator has done what it could. */
type Arrange = () => Promise<MemoryCluster>;
type Row = readonly [what: string, verdict: Judgement, arrange: Arrange];

// biome-ignore lint/suspicious/noExplicitAny: objects as they are stored
type Raw = any;

// The first call builds the program.
beforeAll(() => kstatusOf([]));

const withKey =
  (change: (world: KeyWorld) => void | Promise<void>, spec = {}) =>
  async () => {
    const world = new KeyWorld();
    world.apiKey("ci", spec);
    await change(world);
    await world.pass();
    return world.kube;
  };
const suspend = (object: Raw) => {
  object.spec.suspend = true;
};

const apiKeys: readonly Row[] = [
  ["delivered", "Current", withKey(async (world) => void (await world.settle()))],
  [
    "suspended with a key",
    "Current",
    withKey(async (world) => {
      await world.settle();
      world.edit("apikeys", "ci", suspend);
    }),
  ],
  ["suspended without a key", "Failed", withKey(() => undefined, { suspend: true })],
  ["invalid", "Failed", withKey(() => undefined, { secret: { labels: { "a b": "c" } } })],
  ["over a Secret of somebody else", "Failed", withKey((world) => world.putSecret({ a: "" }))],
  [
    "refused by the console",
    "Failed",
    withKey((world) => {
      world.fault = (_, name) => (name === "issueKey" ? "refused" : undefined);
    }),
  ],
  [
    "while the console is down",
    "InProgress",
    withKey((world) => {
      world.console.isDown = true;
    }),
  ],
  [
    "not accepted by the console yet",
    "InProgress",
    withKey((world) => {
      world.console.accepts = () => false;
    }),
  ],
  [
    "deleted while the console is down",
    "Terminating",
    withKey(async (world) => {
      world.console.extra = { disableKey: true };
      await world.settle();
      world.console.isDown = true;
      world.remove();
    }),
  ],
];

const withAccount = (change: (world: World) => Promise<unknown>) => async () => {
  const world = await createWorld();
  onTestFinished(() => world.stop());
  await world.putLogin();
  await world.putConnection();
  await change(world);
  await world.connect();
  await world.reconcile("ci");
  return world.cluster;
};
const serviceAccounts: readonly Row[] = [
  [
    "created",
    "Current",
    withAccount(async (world) => {
      await world.connect();
      await world.putAccount("ci");
    }),
  ],
  ["suspended before there is an account", "Failed", withAccount(accountWith({ suspend: true }))],
  ["of an account that does not exist", "Failed", withAccount(accountWith({ saId: "sa-none" }))],
  [
    "without a grant",
    "Failed",
    withAccount(async (world) => {
      await world.putConnection({ grants: [] });
      await world.putAccount("ci");
    }),
  ],
  [
    "over a suspended connection",
    "Failed",
    withAccount(async (world) => {
      await world.putConnection({ suspend: true });
      await world.putAccount("ci");
    }),
  ],
  [
    "before its connection exists",
    "InProgress",
    withAccount(accountWith({ connectionRef: { kind: "Connection", name: "later" } })),
  ],
];

function accountWith(spec: object): (world: World) => Promise<unknown> {
  return (world) => world.putAccount("ci", spec);
}

const clusterConnections: readonly Row[] = [
  ["logged in", "Current", withAccount(async () => undefined)],
  [
    "suspended with a login",
    "Current",
    withAccount(async (world) => {
      await world.connect();
      await world.putConnection({ suspend: true });
    }),
  ],
  [
    "suspended without a login",
    "Failed",
    withAccount((world) => world.putConnection({ suspend: true })),
  ],
  ["refused", "Failed", withAccount((world) => world.putLogin({ password: "wrong" }))],
  [
    "before its Secret exists",
    "InProgress",
    withAccount((world) =>
      world.putConnection({ credentials: { login: { secretRef: { name: "later" } } } }),
    ),
  ],
];

const withBinding =
  (spec: object = {}, options: WorldOptions = {}): Arrange =>
  async () => {
    const world = await accountWorld(options);
    world.bind("reading", ["pol-read"], spec);
    await world.settle();
    return world.kube;
  };
const policyBindings: readonly Row[] = [
  ["bound", "Current", withBinding()],
  ["outside the grant", "Failed", withBinding({}, { grant: [] })],
  ["suspended before it is bound", "Failed", withBinding({ suspend: true })],
  [
    "suspended after it was bound",
    "Current",
    async () => {
      const world = await accountWorld();
      world.bind("reading", ["pol-read"]);
      await world.settle();
      world.bind("reading", ["pol-read"], { suspend: true });
      await world.settle();
      return world.kube;
    },
  ],
  ["before its account is ready", "InProgress", withBinding({}, { ready: false })],
];

const withExport =
  (spec: object): Arrange =>
  async () => {
    const world = await exportWorld();
    world.issue(["pol-read"]);
    world.put(spec);
    await world.pass();
    return world.kube;
  };
const quotaExports: readonly Row[] = [
  ["listed", "Current", withExport({})],
  ["suspended before it is listed", "Failed", withExport({ suspend: true })],
  ["invalid", "Failed", withExport({ interval: "5s" })],
  [
    "over another connection than its key",
    "Failed",
    withExport({
      apiKeyRef: { name: "ci-key" },
      connectionRef: { kind: "Connection", name: "elsewhere" },
    }),
  ],
  ["before its ApiKey exists", "InProgress", withExport({ apiKeyRef: { name: "later" } })],
];

describe.each([
  ["ApiKey", apiKeys],
  ["ServiceAccount", serviceAccounts],
  ["ClusterConnection", clusterConnections],
  ["PolicyBinding", policyBindings],
  ["ResourceQuotaExport", quotaExports],
] as const)("%s", (kind, rows) => {
  test.each(rows)("%s is %s", async (_, verdict, arrange) => {
    const { storage } = (await arrange()).server;
    const versions = storage
      .since(0)
      .filter((change) => change.kind.type.kind === kind && change.type !== "DELETED")
      .map(({ object }) => object);
    const verdicts = (await kstatusOf(versions)).map(({ status }) => status);
    expect(verdicts).toEqual(versions.map(expected));
    expect(verdicts.at(-1)).toBe(verdict);
  });
});

/** By the conditions alone. */
function expected({ metadata, status }: Raw): Judgement {
  if (metadata.deletionTimestamp !== undefined) return "Terminating";
  if (status.observedGeneration !== metadata.generation) return "InProgress";
  if (isTrue(status.conditions, "Ready")) return "Current";
  return isTrue(status.conditions, "Stalled") ? "Failed" : "InProgress";
}
