/** Stories that end, and some that go on afterwards. */

import { namespaceType, secretType } from "../../../src/kube/resource-types.ts";
import {
  apiKeyType,
  clusterConnectionType,
  policyBindingType,
  serviceAccountType,
} from "../../../src/resources/resource-types.ts";
import { MINUTE } from "../../../src/util/time.ts";
import { NAMESPACE } from "../places.ts";
import { ACCOUNT, fromRest, rotateNow, type Scenario } from "../scenarios.ts";
import type { SimWorld } from "../sim-world.ts";
import { extraCalls } from "./console.ts";

export function deleteAll(world: SimWorld): void {
  world.delete(apiKeyType, "ci");
  world.delete(policyBindingType, "reader");
  world.delete(serviceAccountType, ACCOUNT);
}

/** [L6] Nothing of ours is left in the namespace, and nothing is bound any more. */
function isGone(world: SimWorld): string | undefined {
  const left = [apiKeyType, policyBindingType, serviceAccountType, secretType].flatMap((type) =>
    world
      .list(type)
      .filter(({ metadata }) => (metadata as { namespace?: string }).namespace === NAMESPACE),
  );
  if (left.length > 0) return `${left.length} objects are left`;
  const bound = [...world.console.world.bindings.values()].flat();
  return bound.length > 0 ? `still bound: ${bound.join(" ")}` : undefined;
}

function ending(
  name: string,
  act: (world: SimWorld) => void,
  atEnd: NonNullable<Scenario["atEnd"]>,
): Scenario {
  return fromRest(name, act, { settleMs: 25 * MINUTE, atEnd });
}

export const endingScenarios: readonly Scenario[] = [
  ending(
    "ApiKey deleted",
    (world) => void world.delete(apiKeyType, "ci"),
    (world) => (world.get(secretType, "ci") === undefined ? undefined : "the Secret is left"),
  ),
  fromRest(
    "ApiKey deleted during a restart, whose keys a call ends",
    (world) => {
      world.stopOperator();
      world.delete(apiKeyType, "ci");
    },
    {
      settleMs: 25 * MINUTE,
      world: { extraCalls },
      specChanges: { connection: { extraCalls } },
      atEnd: (world) =>
        world.get(secretType, "ci") === undefined ? undefined : "the Secret is left",
    },
  ),
  ending("everything deleted", deleteAll, isGone),
  ending("namespace deleted", (world) => void world.delete(namespaceType, NAMESPACE), isGone),
  ending(
    "connection deleted first",
    (world) => {
      world.delete(clusterConnectionType, "default");
      deleteAll(world);
    },
    isGone,
  ),
  fromRest(
    "ApiKey deleted and created again",
    async (world) => {
      const spec = world.get(apiKeyType, "ci")?.spec ?? {};
      world.delete(apiKeyType, "ci");
      await world.kernel.advance(MINUTE);
      // Where a fault holds the old one up, there is nothing to create yet.
      for (let tries = 0; tries < 3 && world.get(apiKeyType, "ci") !== undefined; tries += 1)
        await world.kernel.advance(MINUTE);
      if (world.get(apiKeyType, "ci") === undefined)
        world.offer(apiKeyType, { metadata: { name: "ci", namespace: NAMESPACE }, spec });
    },
    { epochs: 2 },
  ),
  fromRest(
    "operator restarted",
    (world) => {
      world.stopOperator();
      rotateNow(world, "one");
    },
    { epochs: 2, thenMs: 8 * MINUTE },
  ),
  fromRest("operator restarted after everything was made", (world) => world.stopOperator(), {
    flags: [],
  }),
];
