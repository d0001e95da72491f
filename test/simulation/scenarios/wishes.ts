/** Stories in which people change what they want. */
import {
  apiKeyType,
  policyBindingType,
  resourceQuotaExportType,
  serviceAccountType,
} from "../../../src/controllers/resource-types.ts";
import { secretType } from "../../../src/kube/resource-types.ts";
import { MINUTE } from "../../../src/util/time.ts";
import { SEEDED } from "../../iam-server/seed.ts";
import type { Tree } from "../api-server/tree.ts";
import { accountsOf, bindingsOf } from "../invariants/view.ts";
import {
  ACCOUNT,
  ALONE,
  createAll,
  createBinding,
  createKey,
  DEPLOY,
  inNamespace,
  MEMBER,
  READ,
  rotateNow,
  type Scenario,
  startWithAll,
  type Wishes,
} from "../scenarios.ts";
import type { SimWorld } from "../sim-world.ts";

const SOON = 2 * MINUTE;

/** Somebody changes something about a world at rest. */
function change(
  name: string,
  act: (world: SimWorld) => void,
  more: Partial<Scenario> & { readonly from?: Wishes } = {},
): Scenario {
  const { from, ...rest } = more;
  return {
    name,
    flags: ALONE,
    settleMs: 20 * MINUTE,
    epochs: 1,
    play: async (world) => {
      await startWithAll(world, from);
      world.unleash();
      act(world);
      await world.kernel.advance(SOON);
    },
    ...rest,
  };
}

/** What is bound at the console is what is asked for. */
function bound(...wanted: readonly string[]) {
  return (world: SimWorld): string | undefined => {
    const tpn = accountsOf(world)[0]?.status?.tpn ?? "";
    const found = [...world.console.world.boundTo(tpn)].sort().join(" ");
    return found === [...wanted].sort().join(" ") ? undefined : `bound are: ${found}`;
  };
}

function entry(world: SimWorld, name: string, key: string): string | undefined {
  const data = world.get(secretType, name)?.data as Tree | undefined;
  const value = data?.[key];
  return typeof value === "string" ? Buffer.from(value, "base64").toString("utf8") : undefined;
}

const adopted: Scenario["atEnd"] = (world) =>
  entry(world, "ci", "keyId")?.startsWith("sak_") ? undefined : "the Secret was not adopted";

export const wishScenarios: readonly Scenario[] = [
  change("binding added", (world) => createBinding(world, "second", [MEMBER]), {
    atEnd: bound(READ, DEPLOY, MEMBER),
  }),
  change("binding removed", (world) => void world.delete(policyBindingType, "second"), {
    play: async (world) => {
      world.startOperator();
      createAll(world);
      createBinding(world, "second", [READ, MEMBER]);
      await world.kernel.advance(MINUTE);
      world.unleash();
      world.delete(policyBindingType, "second");
      await world.kernel.advance(SOON);
    },
    atEnd: bound(READ, DEPLOY),
  }),
  change(
    "binding changed",
    (world) => void world.patch(policyBindingType, "reader", { spec: { policyIds: [MEMBER] } }),
    { atEnd: bound(MEMBER) },
  ),
  change(
    "access suspended",
    (world) => void world.patch(serviceAccountType, ACCOUNT, { spec: { suspendAccess: true } }),
    {
      atEnd: bound(),
      unfulfilled: (world) => {
        const states = bindingsOf(world).map(({ status }) => status?.conditions?.[0]?.reason);
        return states.every((reason) => reason === "AccessSuspended") ? undefined : "is not shown";
      },
    },
  ),
  change(
    "access given back",
    (world) => void world.patch(serviceAccountType, ACCOUNT, { spec: { suspendAccess: false } }),
    { from: { account: { suspendAccess: true } }, atEnd: bound(READ, DEPLOY) },
  ),
  change("descriptions changed", (world) => {
    world.patch(serviceAccountType, ACCOUNT, { spec: { description: "other" } });
    world.patch(apiKeyType, "ci", { spec: { description: "other" } });
  }),
  change(
    "template changed",
    (world) =>
      void world.patch(apiKeyType, "ci", {
        spec: { secret: { data: { env: "ID=${keyId}\nSECRET=${secret}\n" } } },
      }),
    {
      atEnd: (world) =>
        entry(world, "ci", "env")?.startsWith("ID=sak_") ? undefined : "the entry is not there",
    },
  ),
  change("second key of the account", (world) => createKey(world, "other"), { epochs: 2 }),
  {
    name: "two keys at once, rotated at once",
    flags: ALONE,
    settleMs: 20 * MINUTE,
    epochs: 4,
    play: async (world) => {
      world.startOperator();
      world.unleash();
      createAll(world);
      createKey(world, "other", { rotation: { overlap: "5m" } });
      await world.kernel.advance(MINUTE);
      rotateNow(world, "one");
      rotateNow(world, "one", "other");
      await world.kernel.advance(6 * MINUTE);
    },
  },
  {
    name: "Secret adopted",
    flags: ALONE,
    settleMs: 20 * MINUTE,
    epochs: 1,
    play: async (world) => {
      world.startOperator();
      world.create(secretType, { metadata: inNamespace("ci"), stringData: { keyId: "theirs" } });
      world.unleash();
      createAll(world, { key: { secret: { onExisting: "Adopt" } } });
      await world.kernel.advance(SOON);
    },
    atEnd: adopted,
  },
  {
    name: "foreign Secret in the way, then gone",
    flags: ALONE,
    settleMs: 20 * MINUTE,
    epochs: 1,
    play: async (world) => {
      world.startOperator();
      world.create(secretType, { metadata: inNamespace("ci"), stringData: { keyId: "theirs" } });
      world.unleash();
      createAll(world);
      await world.kernel.advance(MINUTE);
      world.delete(secretType, "ci");
      await world.kernel.advance(SOON);
    },
    atEnd: adopted,
  },
  {
    name: "account imported",
    flags: ALONE,
    settleMs: 20 * MINUTE,
    epochs: 1,
    play: async (world) => {
      world.startOperator();
      const { orgId, projectId } = SEEDED;
      const account = { orgId, projectId, name: "old", description: "from before" };
      const { saId, tpn } = world.console.world.createAccount(account);
      world.console.world.replaceBindings(tpn, [MEMBER]);
      world.unleash();
      const grants = [
        { namespaces: { names: ["team-a"] }, policyIds: ["*"], importServiceAccounts: true },
      ];
      createAll(world, { account: { saId }, connection: { grants } });
      await world.kernel.advance(SOON);
    },
    atEnd: bound(READ, DEPLOY, MEMBER),
  },
  change(
    "quotas exported",
    (world) =>
      void world.create(resourceQuotaExportType, {
        metadata: inNamespace("quotas"),
        spec: { clusterId: SEEDED.clusterId },
      }),
  ),
];
