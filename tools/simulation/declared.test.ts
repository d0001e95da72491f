import { expect, test } from "vitest";
import { secretType } from "../../src/kube/resource-types.ts";
import { apiKeyType } from "../../src/resources/resource-types.ts";
import { scenarioNamed } from "./all-scenarios.ts";
import { declaredIn } from "./declared.ts";
import { NO_FAULTS } from "./faults.ts";
import { runPlan } from "./run-plan.ts";
import type { SimWorld } from "./sim-world.ts";
import { happen } from "./world-events.ts";

const changes: readonly (readonly [string, (world: SimWorld) => void, boolean])[] = [
  [
    "a changed spec",
    (world) => void world.patch(apiKeyType, "ci", { spec: { description: "new" } }),
    true,
  ],
  [
    "a request",
    (world) => void world.patch(apiKeyType, "ci", { metadata: { annotations: { ask: "1" } } }),
    true,
  ],
  ["a deletion", (world) => void world.delete(apiKeyType, "ci"), true],
  ["a status", (world) => happen(world, { kind: "WipeStatus", plural: "apikeys" }), false],
  ["the end of the operator's Secret", (world) => void world.delete(secretType, "ci"), false],
];

test.each(changes)(
  "%s is told from what the operator makes of it",
  async (_, change, isDeclared) => {
    const { world } = await runPlan(scenarioNamed("first key"), NO_FAULTS, { seed: 1 });
    const before = declaredIn(world.kube.storage.all);
    change(world);
    expect(declaredIn(world.kube.storage.all) !== before).toBe(isDeclared);
  },
);
