/** Stories in which people change what they want. */

import { labels } from "../../../src/api/meta.ts";
import { secretType } from "../../../src/kube/resource-types.ts";
import {
  apiKeyType,
  policyBindingType,
  resourceQuotaExportType,
  serviceAccountType,
} from "../../../src/resources/resource-types.ts";
import { MINUTE } from "../../../src/util/time.ts";
import { type Tree, treeAt } from "../../api-server/tree.ts";
import { SEEDED } from "../../iam-server/seed.ts";
import { accountsOf, bindingsOf } from "../invariants/view.ts";
import {
  ACCOUNT,
  createAll,
  createBinding,
  createKey,
  DEPLOY,
  fromNothing,
  fromRest,
  inNamespace,
  MEMBER,
  READ,
  rotateNow,
  type Scenario,
  usual,
} from "../scenarios.ts";
import type { SimWorld } from "../sim-world.ts";

const SOON = 2 * MINUTE;

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

const OTHER = "ci-bot-2";

function createOther(world: SimWorld): void {
  world.create(serviceAccountType, { metadata: inNamespace(OTHER), spec: {} });
  createBinding(world, "other-reader", [READ, DEPLOY], { serviceAccountRef: { name: OTHER } });
}

function moveTo(world: SimWorld, name: string): void {
  world.patch(apiKeyType, "ci", { spec: { serviceAccountRef: { name } } });
}

/** Consumers have a key of that account. */
function hasKeyOf(account: string): NonNullable<Scenario["atEnd"]> {
  return (world) => {
    const { saId } = treeAt(world.get(serviceAccountType, account) ?? {}, "status");
    const keyId = entry(world, "ci", "keyId") ?? "";
    const found = world.console.world.keys.get(keyId)?.saId;
    return found === saId
      ? undefined
      : `the Secret holds ${keyId} of ${found}, not of ${String(saId)}`;
  };
}

function fromTwoAccounts(
  name: string,
  own: Partial<Scenario>,
  act: (world: SimWorld) => void | Promise<void>,
): Scenario {
  return {
    ...usual,
    name,
    epochs: 2,
    play: async (world) => {
      world.startOperator();
      createAll(world);
      createOther(world);
      await world.kernel.advance(MINUTE);
      world.unleash();
      await act(world);
      await world.kernel.advance(10 * MINUTE);
    },
    ...own,
  };
}

const moves: readonly Scenario[] = [
  fromTwoAccounts("key moved to another account", { atEnd: hasKeyOf(OTHER) }, (world) =>
    moveTo(world, OTHER),
  ),
  fromTwoAccounts(
    "key moved to another account and back",
    { atEnd: hasKeyOf(ACCOUNT), epochs: 3 },
    async (world) => {
      moveTo(world, OTHER);
      await world.kernel.advance(100);
      moveTo(world, ACCOUNT);
    },
  ),
  fromRest(
    "key moved to a new account",
    (world) => {
      createOther(world);
      moveTo(world, OTHER);
    },
    { atEnd: hasKeyOf(OTHER), epochs: 2, thenMs: 10 * MINUTE },
  ),
  fromNothing(
    "key moved before it was issued",
    { atEnd: hasKeyOf(OTHER), epochs: 1 },
    async (world) => {
      createOther(world);
      await world.kernel.advance(100);
      moveTo(world, OTHER);
    },
  ),
];

export const specChangeScenarios: readonly Scenario[] = [
  fromRest("binding added", (world) => createBinding(world, "second", [MEMBER]), {
    atEnd: bound(READ, DEPLOY, MEMBER),
  }),
  {
    ...usual,
    name: "binding removed",
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
  },
  fromRest(
    "binding changed",
    (world) => void world.patch(policyBindingType, "reader", { spec: { policyIds: [MEMBER] } }),
    { atEnd: bound(MEMBER) },
  ),
  fromRest(
    "access suspended",
    (world) => void world.patch(serviceAccountType, ACCOUNT, { spec: { access: "Revoked" } }),
    {
      atEnd: bound(),
      unreached: (world) => {
        const states = bindingsOf(world).map(({ status }) => status?.conditions?.[0]?.reason);
        return states.every((reason) => reason === "AccessRevoked") ? undefined : "is not shown";
      },
    },
  ),
  fromRest(
    "access given back",
    (world) => void world.patch(serviceAccountType, ACCOUNT, { spec: { access: "Granted" } }),
    { specChanges: { account: { access: "Revoked" } }, atEnd: bound(READ, DEPLOY) },
  ),
  fromRest("descriptions changed", (world) => {
    world.patch(serviceAccountType, ACCOUNT, { spec: { description: "other" } });
    world.patch(apiKeyType, "ci", { spec: { description: "other" } });
  }),
  fromRest(
    "template changed",
    (world) =>
      void world.patch(apiKeyType, "ci", {
        spec: {
          secret: {
            data: {
              keyId: "${keyId}",
              secret: "${secret}",
              env: "ID=${keyId}\nSECRET=${secret}\n",
            },
          },
        },
      }),
    {
      atEnd: (world) =>
        entry(world, "ci", "env")?.startsWith("ID=sak_") ? undefined : "the entry is not there",
    },
  ),
  fromRest("second key of the account", (world) => createKey(world, "other"), { epochs: 2 }),
  fromNothing(
    "two keys at once, rotated at once",
    { epochs: 4, thenMs: 6 * MINUTE },
    async (world) => {
      createKey(world, "other", { rotation: { overlap: "5m" } });
      await world.kernel.advance(MINUTE);
      rotateNow(world, "one");
      rotateNow(world, "one", "other");
    },
  ),
  {
    ...usual,
    name: "Secret adopted",
    play: async (world) => {
      world.startOperator();
      world.create(secretType, {
        metadata: { ...inNamespace("ci"), labels: { [labels.apiKey]: "ci" } },
        stringData: { keyId: "theirs" },
      });
      world.unleash();
      createAll(world, { key: { secret: { onExisting: "Adopt" } } });
      await world.kernel.advance(SOON);
    },
    atEnd: adopted,
  },
  {
    ...usual,
    name: "Secret labelled for its adoption late",
    play: async (world) => {
      world.startOperator();
      world.create(secretType, { metadata: inNamespace("ci"), stringData: { keyId: "theirs" } });
      world.unleash();
      createAll(world, { key: { secret: { onExisting: "Adopt" } } });
      await world.kernel.advance(MINUTE);
      world.patch(secretType, "ci", { metadata: { labels: { [labels.apiKey]: "ci" } } });
      await world.kernel.advance(SOON);
    },
    atEnd: adopted,
  },
  {
    ...usual,
    name: "foreign Secret in the way, then gone",
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
    ...usual,
    name: "Secret of another type in the way of an adoption, then gone",
    play: async (world) => {
      world.startOperator();
      world.create(secretType, { metadata: inNamespace("ci"), stringData: { keyId: "theirs" } });
      world.unleash();
      createAll(world, { key: { secret: { type: "example.com/type", onExisting: "Adopt" } } });
      await world.kernel.advance(MINUTE);
      world.delete(secretType, "ci");
      await world.kernel.advance(SOON);
    },
    atEnd: adopted,
  },
  {
    ...usual,
    name: "account imported",
    play: async (world) => {
      world.startOperator();
      const { orgId, projectId } = SEEDED;
      const account = { orgId, projectId, name: "old", description: "from before" };
      const { saId, tpn } = world.console.world.createAccount(account);
      world.console.world.replaceBindings(tpn, [MEMBER]);
      // Longer than any list is behind: nobody can keep a policy that no list has shown yet.
      await world.kernel.advance(5 * MINUTE);
      world.unleash();
      const grants = [
        {
          name: "team-a",
          namespaces: { names: ["team-a"] },
          policyIds: ["*"],
          importServiceAccounts: true,
        },
      ];
      createAll(world, { account: { saId }, connection: { grants } });
      await world.kernel.advance(SOON);
    },
    atEnd: bound(READ, DEPLOY, MEMBER),
  },
  ...moves,
  fromRest(
    "quotas exported",
    (world) =>
      void world.create(resourceQuotaExportType, {
        metadata: inNamespace("quotas"),
        spec: { clusterId: SEEDED.clusterId },
      }),
  ),
];
