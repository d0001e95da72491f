/**
 * Stories about ways: whichever way led to a declared state, the end is the one that this state alone would have come to; and
 * after a state that cannot be reached, the last one that can is reached again.
 */
import {
  apiKeyType,
  policyBindingType,
  serviceAccountType,
} from "../../../src/resources/resource-types.ts";
import { SECOND } from "../../../src/util/time.ts";
import type { Tree } from "../../api-server/tree.ts";
import {
  ACCOUNT,
  DEPLOY,
  fromNothing,
  MEMBER,
  READ,
  type Scenario,
  type SpecChanges,
} from "../scenarios.ts";
import type { SimWorld } from "../sim-world.ts";

interface Way {
  readonly name: string;
  readonly to: SpecChanges;
  readonly steps: readonly ((world: SimWorld) => void)[];
}

/** The declared state by its way, and from nothing. */
function twoWays({ name, to, steps }: Way): readonly Scenario[] {
  return [
    fromNothing(`${name}, at once`, { specChanges: to }),
    fromNothing(`${name}, by its way`, { endsAs: `${name}, at once` }, async (world) => {
      for (const step of steps) {
        await world.kernel.advance(15 * SECOND);
        step(world);
      }
    }),
  ];
}

const policies =
  (...policyIds: readonly string[]) =>
  (world: SimWorld) =>
    void world.patch(policyBindingType, "reader", { spec: { policyIds: [...policyIds] } });
const account = (spec: Tree) => (world: SimWorld) =>
  void world.patch(serviceAccountType, ACCOUNT, { spec });
const key = (spec: Tree) => (world: SimWorld) => void world.patch(apiKeyType, "ci", { spec });

export const pathScenarios: readonly Scenario[] = [
  ...twoWays({
    name: "policies",
    to: { policyIds: [MEMBER] },
    steps: [policies(READ), policies(DEPLOY, MEMBER), policies(MEMBER)],
  }),
  ...twoWays({
    name: "suspended and not",
    to: { account: { description: "last" } },
    steps: [account({ access: "Revoked" }), account({ access: "Granted", description: "last" })],
  }),
  ...twoWays({
    name: "labels of the Secret",
    to: { key: { secret: { labels: { team: "b" } } } },
    steps: [
      key({ secret: { labels: { team: "a", tier: "db" }, annotations: { note: "x" } } }),
      key({ secret: { labels: { team: "b", tier: null }, annotations: null } }),
    ],
  }),
  ...twoWays({
    name: "back from what cannot be",
    to: {},
    steps: [
      // No such policy; a lifetime that no grant allows; an account that was asked for under another policy.
      policies("pol-nowhere"),
      key({ expiresInDays: 3_000 }),
      key({ expiresInDays: null }),
      policies(READ, DEPLOY),
    ],
  }),
];
