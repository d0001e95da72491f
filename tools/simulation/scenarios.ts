/** What users do, in short stories; each ends in a declared state that the operator can reach. */

import { annotations } from "../../src/api/meta.ts";
import {
  apiKeyType,
  clusterConnectionType,
  policyBindingType,
  serviceAccountType,
} from "../../src/resources/resource-types.ts";
import { MINUTE } from "../../src/util/time.ts";
import type { Tree } from "../api-server/tree.ts";
import { apiKeysOf } from "./invariants/view.ts";
import { NAMESPACE } from "./places.ts";
import { type ConsoleSettings, connectionSpec, type SimWorld } from "./sim-world.ts";

export interface Scenario {
  readonly name: string;
  readonly flags: readonly string[];
  /** Acts, and lets time pass in between. Faults come after `unleash`. */
  readonly play: (world: SimWorld) => Promise<void>;
  /** How long the world gets to come to rest once the last act is over. */
  readonly settleMs: number;
  /** How often an ApiKey is wanted to have been issued, where nothing goes wrong. */
  readonly epochs: number;
  /** What the console is like. */
  readonly world?: ConsoleSettings;
  /** The scenario that ends in the same way. */
  readonly endsAs?: string;
  /** What is not as declared in the end, where not every object is to be Ready. */
  readonly unreached?: (world: SimWorld) => string | undefined;
  /** What is wrong in the end, besides what must always be right. */
  readonly atEnd?: (world: SimWorld) => string | undefined;
}

/** What holds for a story unless it says otherwise: one replica, which issues one key. */
export const usual = {
  flags: ["--leader-elect=false"],
  settleMs: 20 * MINUTE,
  epochs: 1,
} as const;

export function inNamespace(name: string): Tree {
  return { name, namespace: NAMESPACE };
}

/** What `createAll` makes otherwise than usual: parts of specs. */
export interface SpecChanges {
  readonly key?: Tree;
  readonly account?: Tree;
  readonly connection?: Tree;
  readonly policyIds?: readonly string[];
}

export const ACCOUNT = "ci-bot";
const serviceAccountRef = { name: ACCOUNT };

export function createAll(
  world: SimWorld,
  { key, account, connection, policyIds }: SpecChanges = {},
) {
  world.create(clusterConnectionType, {
    metadata: { name: "default" },
    spec: { ...connectionSpec, ...world.console.ownSpec, ...connection },
  });
  world.create(serviceAccountType, {
    metadata: inNamespace(ACCOUNT),
    spec: { description: "ci", ...account },
  });
  createBinding(world, "reader", policyIds ?? [READ, DEPLOY]);
  createKey(world, "ci", key);
}

export function createBinding(
  world: SimWorld,
  name: string,
  policyIds: readonly string[],
  change: Tree = {},
): void {
  const spec = { serviceAccountRef, policyIds: [...policyIds], ...change };
  world.create(policyBindingType, { metadata: inNamespace(name), spec });
}

export function createKey(world: SimWorld, name: string, spec: Tree = {}): void {
  world.create(apiKeyType, {
    metadata: inNamespace(name),
    spec: { serviceAccountRef, rotation: { overlap: "5m" }, ...spec },
  });
}

/** Policies of the seeded console. */
export const READ = "pol-read";
export const DEPLOY = "pol-deploy";
export const MEMBER = "pol-member";

function revisionOf(world: SimWorld): number {
  return apiKeysOf(world)[0]?.status?.current?.revision ?? 0;
}

/** The operator, everything it is to make, and the time it takes to make it. */
export async function startWithAll(world: SimWorld, specChanges: SpecChanges = {}): Promise<void> {
  world.startOperator();
  createAll(world, specChanges);
  await world.kernel.advance(MINUTE / 2);
}

export function rotateNow(world: SimWorld, token: string, name = "ci"): void {
  world.patch(apiKeyType, name, {
    metadata: { annotations: { [annotations.rotateRequestedAt]: token } },
  });
}

/** What a story has of its own, where it goes as many do. */
type Particulars = Partial<Omit<Scenario, "name" | "play">> & {
  readonly specChanges?: SpecChanges;
  /** How long it goes on after the last act. */
  readonly thenMs?: number;
};

type Act = (world: SimWorld) => void | Promise<void>;

/** Everything is made under faults; then somebody may act. */
export function fromNothing(name: string, own: Particulars = {}, act?: Act): Scenario {
  const { specChanges, thenMs = 2 * MINUTE, ...rest } = own;
  return {
    ...usual,
    name,
    play: async (world) => {
      world.startOperator();
      world.unleash();
      createAll(world, specChanges);
      await act?.(world);
      await world.kernel.advance(thenMs);
    },
    ...rest,
  };
}

/** Everything has been made in peace; then somebody acts, under faults. */
export function fromRest(name: string, act: Act, own: Particulars = {}): Scenario {
  const { specChanges, thenMs = 2 * MINUTE, ...rest } = own;
  return {
    ...usual,
    name,
    play: async (world) => {
      await startWithAll(world, specChanges);
      world.unleash();
      await act(world);
      await world.kernel.advance(thenMs);
    },
    ...rest,
  };
}

export const scenarios: readonly Scenario[] = [
  fromNothing("first key"),
  fromRest("rotation on request", (world) => rotateNow(world, "one"), {
    epochs: 2,
    thenMs: 10 * MINUTE,
  }),
  {
    ...usual,
    name: "rotation by age",
    epochs: 2,
    play: async (world) => {
      const often = { overlap: "5m", renewBefore: "23h" };
      await startWithAll(world, { key: { expiresInDays: 1, rotation: often } });
      await world.kernel.advance(29 * MINUTE);
      world.unleash();
      // Half an hour to an hour after the first key, as its jitter has it.
      for (let minute = 0; minute < 40 && revisionOf(world) < 2; minute += 1)
        await world.kernel.advance(MINUTE);
      world.patch(apiKeyType, "ci", { spec: { rotation: { renewBefore: null } } });
      await world.kernel.advance(6 * MINUTE);
    },
  },
  fromNothing("elected", { flags: [] }),
];
