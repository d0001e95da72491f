/** What users do, in short stories; each ends in a wish that the operator can fulfil. */

import { annotations } from "../../src/api/meta.ts";
import {
  apiKeyType,
  clusterConnectionType,
  policyBindingType,
  serviceAccountType,
} from "../../src/controllers/resource-types.ts";
import { HOUR, MINUTE } from "../../src/util/time.ts";
import type { Tree } from "./api-server/tree.ts";
import { NAMESPACE } from "./places.ts";
import { connectionSpec, type SimWorld } from "./sim-world.ts";

export interface Scenario {
  readonly name: string;
  readonly flags: readonly string[];
  /** Acts, and lets time pass in between. Faults come after `unleash`. */
  readonly play: (world: SimWorld) => Promise<void>;
  /** How long the world gets to come to rest once the last act is over. */
  readonly settleMs: number;
  /** How often an ApiKey is wanted to have been issued, where nothing goes wrong. */
  readonly epochs: number;
}

const ALONE = ["--leader-elect=false"];

function inNamespace(name: string): Tree {
  return { name, namespace: NAMESPACE };
}

export function createAll(world: SimWorld, key: Tree = {}): void {
  const serviceAccountRef = { name: "ci-bot" };
  world.create(clusterConnectionType, { metadata: { name: "default" }, spec: connectionSpec });
  world.create(serviceAccountType, {
    metadata: inNamespace("ci-bot"),
    spec: { description: "ci" },
  });
  world.create(policyBindingType, {
    metadata: inNamespace("reader"),
    spec: { serviceAccountRef, policyIds: [...policiesOf(world).slice(0, 2)] },
  });
  world.create(apiKeyType, {
    metadata: inNamespace("ci"),
    spec: { serviceAccountRef, rotation: { overlap: "5m" }, ...key },
  });
}

function policiesOf(world: SimWorld): readonly string[] {
  return [...world.console.world.policies.values()]
    .filter(({ kind }) => kind !== "scp")
    .map(({ policyId }) => policyId);
}

export function rotateNow(world: SimWorld, token: string): void {
  world.patch(apiKeyType, "ci", {
    metadata: { annotations: { [annotations.rotateRequestedAt]: token } },
  });
}

export const scenarios: readonly Scenario[] = [
  {
    name: "first key",
    flags: ALONE,
    settleMs: 20 * MINUTE,
    epochs: 1,
    play: async (world) => {
      world.startOperator();
      world.unleash();
      createAll(world);
      await world.kernel.advance(2 * MINUTE);
    },
  },
  {
    name: "rotation on request",
    flags: ALONE,
    settleMs: 20 * MINUTE,
    epochs: 2,
    play: async (world) => {
      world.startOperator();
      createAll(world);
      await world.kernel.advance(2 * MINUTE);
      world.unleash();
      rotateNow(world, "one");
      await world.kernel.advance(10 * MINUTE);
    },
  },
  {
    name: "rotation by age",
    flags: ALONE,
    settleMs: HOUR,
    epochs: 2,
    play: async (world) => {
      world.startOperator();
      world.unleash();
      createAll(world, { expiresInDays: 1 });
      await world.kernel.advance(18 * HOUR);
    },
  },
  {
    name: "elected",
    flags: [],
    settleMs: 20 * MINUTE,
    epochs: 1,
    play: async (world) => {
      world.startOperator();
      world.unleash();
      createAll(world);
      await world.kernel.advance(2 * MINUTE);
    },
  },
];
