/** The verdicts on objects that the operator's own controllers have written, and on every version on the way there. */
import { beforeAll, describe, expect, test } from "vitest";
import { isTrue } from "../../../src/api/conditions.ts";
import { secretType } from "../../../src/kube/resource-types.ts";
import {
  apiKeyType,
  clusterConnectionType,
  policyBindingType,
  resourceQuotaExportType,
} from "../../../src/resources/resource-types.ts";
import { MINUTE } from "../../../src/util/time.ts";
import type { ApiServer } from "../../../tools/api-server/server.ts";
import type { Tree } from "../../../tools/api-server/tree.ts";
import { SEEDED } from "../../../tools/iam-server/seed.ts";
import { extraCalls } from "../../../tools/simulation/scenarios/console.ts";
import {
  createBinding,
  inNamespace,
  MEMBER,
  READ,
  type SpecChanges,
} from "../../../tools/simulation/scenarios.ts";
import { connectionSpec } from "../../../tools/simulation/sim-world.ts";
import { StoryWorld } from "../../../tools/simulation/stories/story.ts";
import { kstatusOf, type Verdict } from "./kstatus.ts";

type Judgement = Verdict["status"];
/** A world in which the operator has done what it could. */
type Arrange = () => Promise<ApiServer>;
type Row = readonly [what: string, verdict: Judgement, arrange: Arrange];

// biome-ignore lint/suspicious/noExplicitAny: objects as they are stored
type Raw = any;

// The first call builds the program.
beforeAll(() => kstatusOf([]));

/** A story told up to the version that counts. */
const told =
  (tell: (world: StoryWorld) => void | Promise<void>): Arrange =>
  async () => {
    const world = new StoryWorld({ console: { extraCalls } });
    await tell(world);
    await world.pass(MINUTE);
    return world.sim.kube;
  };
const declared = (specChanges: SpecChanges = {}) => told((world) => world.begin(specChanges));
const [grant] = connectionSpec.grants as readonly Tree[];
const granting = (change: Tree) => ({ grants: [{ ...grant, ...change }] });
const later = { kind: "Connection", name: "later" };

const refusing = (operation: string, status: number) =>
  told((world) => {
    world.fault(operation, { kind: "Refuse", status }, 1_000);
    return world.begin();
  });

const apiKeys: readonly Row[] = [
  ["delivered", "Current", declared()],
  [
    "suspended with a key",
    "Current",
    told(async (world) => {
      await world.begin();
      world.change(apiKeyType, "ci", { suspend: true });
    }),
  ],
  ["suspended without a key", "Failed", declared({ key: { suspend: true } })],
  ["invalid", "Failed", declared({ key: { secret: { labels: { "a b": "c" } } } })],
  [
    "over a Secret of another owner",
    "Failed",
    told((world) => {
      world.sim.create(secretType, { metadata: inNamespace("ci") });
      return world.begin();
    }),
  ],
  ["refused by the console", "Failed", refusing("issueKey", 422)],
  ["while the console is down", "InProgress", refusing("issueKey", 503)],
  ["not accepted by the console yet", "InProgress", refusing("searchActions", 401)],
  [
    "deleted while the console is down",
    "Terminating",
    told(async (world) => {
      await world.begin({ connection: { extraCalls } });
      world.fault("getServiceAccount", { kind: "Refuse", status: 503 }, 1_000);
      world.sim.delete(apiKeyType, "ci");
    }),
  ],
];

const serviceAccounts: readonly Row[] = [
  ["created", "Current", declared()],
  ["suspended before there is an account", "Failed", declared({ account: { suspend: true } })],
  [
    "of an account that does not exist",
    "Failed",
    declared({
      account: { saId: "sa-none" },
      connection: granting({ importServiceAccounts: true }),
    }),
  ],
  ["without a grant", "Failed", declared({ connection: { grants: [] } })],
  ["over a suspended connection", "Failed", declared({ connection: { suspend: true } })],
  ["before its connection exists", "InProgress", declared({ account: { connectionRef: later } })],
];

const clusterConnections: readonly Row[] = [
  ["logged in", "Current", declared()],
  [
    "suspended with a login",
    "Current",
    told(async (world) => {
      await world.begin();
      world.change(clusterConnectionType, "default", { suspend: true });
    }),
  ],
  ["suspended without a login", "Failed", declared({ connection: { suspend: true } })],
  [
    "refused",
    "Failed",
    told((world) => {
      for (const user of world.sim.console.world.users.values()) user.password = "another";
      return world.begin();
    }),
  ],
  [
    "before its Secret exists",
    "InProgress",
    declared({ connection: { credentials: { login: { secretRef: { name: "later" } } } } }),
  ],
];

const policyBindings: readonly Row[] = [
  ["bound", "Current", declared()],
  ["outside the grant", "Failed", declared({ connection: granting({ policyIds: [READ] }) })],
  [
    "suspended before it is bound",
    "Failed",
    told(async (world) => {
      await world.begin();
      createBinding(world.sim, "second", [MEMBER], { suspend: true });
    }),
  ],
  [
    "suspended after it was bound",
    "Current",
    told(async (world) => {
      await world.begin();
      world.change(policyBindingType, "reader", { suspend: true });
    }),
  ],
  ["before its account is ready", "InProgress", declared({ account: { connectionRef: later } })],
];

const exporting = (spec: Tree, specChanges: SpecChanges = {}) =>
  told(async (world) => {
    await world.begin(specChanges);
    world.sim.create(resourceQuotaExportType, {
      metadata: inNamespace("quotas"),
      spec: { clusterId: SEEDED.clusterId, ...spec },
    });
  });
const quotaExports: readonly Row[] = [
  ["listed", "Current", exporting({})],
  ["suspended before it is listed", "Failed", exporting({ suspend: true })],
  ["invalid", "Failed", exporting({ interval: "5s" })],
  [
    "without a grant for the cluster",
    "Failed",
    exporting({}, { connection: granting({ quotaExports: [] }) }),
  ],
  ["before its ApiKey exists", "InProgress", exporting({ apiKeyRef: { name: "later" } })],
];

describe.each([
  ["ApiKey", apiKeys],
  ["ServiceAccount", serviceAccounts],
  ["ClusterConnection", clusterConnections],
  ["PolicyBinding", policyBindings],
  ["ResourceQuotaExport", quotaExports],
] as const)("%s", (kind, rows) => {
  test.each(rows)("%s is %s", async (_, verdict, arrange) => {
    const { storage } = await arrange();
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
