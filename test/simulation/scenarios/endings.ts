/** Stories that end, and some that go on afterwards. */
import {
  apiKeyType,
  clusterConnectionType,
  policyBindingType,
  serviceAccountType,
} from "../../../src/controllers/resource-types.ts";
import { namespaceType, secretType } from "../../../src/kube/resource-types.ts";
import { MINUTE } from "../../../src/util/time.ts";
import { NAMESPACE } from "../places.ts";
import { ACCOUNT, ALONE, createAll, rotateNow, type Scenario, startWithAll } from "../scenarios.ts";
import type { SimWorld } from "../sim-world.ts";

function deleteAll(world: SimWorld): void {
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
  more: Partial<Scenario> = {},
): Scenario {
  return {
    name,
    flags: ALONE,
    settleMs: 25 * MINUTE,
    epochs: 1,
    play: async (world) => {
      await startWithAll(world);
      world.unleash();
      act(world);
      await world.kernel.advance(2 * MINUTE);
    },
    ...more,
  };
}

export const endingScenarios: readonly Scenario[] = [
  ending("ApiKey deleted", (world) => void world.delete(apiKeyType, "ci"), {
    atEnd: (world) =>
      world.get(secretType, "ci") === undefined ? undefined : "the Secret is left",
  }),
  ending("everything deleted", deleteAll, { atEnd: isGone }),
  ending("namespace deleted", (world) => void world.delete(namespaceType, NAMESPACE), {
    atEnd: isGone,
  }),
  ending(
    "connection deleted first",
    (world) => {
      world.delete(clusterConnectionType, "default");
      deleteAll(world);
    },
    { atEnd: isGone },
  ),
  {
    name: "ApiKey deleted and created again",
    flags: ALONE,
    settleMs: 20 * MINUTE,
    epochs: 2,
    play: async (world) => {
      await startWithAll(world);
      world.unleash();
      const spec = world.get(apiKeyType, "ci")?.spec ?? {};
      world.delete(apiKeyType, "ci");
      await world.kernel.advance(MINUTE);
      // Where a fault holds the old one up, there is nothing to create yet.
      for (let tries = 0; tries < 3 && world.get(apiKeyType, "ci") !== undefined; tries += 1)
        await world.kernel.advance(MINUTE);
      if (world.get(apiKeyType, "ci") === undefined)
        world.offer(apiKeyType, { metadata: { name: "ci", namespace: NAMESPACE }, spec });
      await world.kernel.advance(2 * MINUTE);
    },
  },
  {
    name: "operator restarted",
    flags: ALONE,
    settleMs: 20 * MINUTE,
    epochs: 2,
    play: async (world) => {
      await startWithAll(world);
      world.unleash();
      world.stopOperator();
      rotateNow(world, "one");
      await world.kernel.advance(8 * MINUTE);
    },
  },
  {
    name: "operator restarted after everything was made",
    flags: [],
    settleMs: 20 * MINUTE,
    epochs: 1,
    play: async (world) => {
      world.startOperator();
      createAll(world);
      await world.kernel.advance(MINUTE / 2);
      world.unleash();
      world.stopOperator();
      await world.kernel.advance(2 * MINUTE);
    },
  },
];
