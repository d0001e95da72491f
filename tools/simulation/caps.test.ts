/** No cap leaves a workload without a usable key, whatever was lost before. */
import { expect, test } from "vitest";
import { secretType } from "../../src/kube/resource-types.ts";
import { apiKeyType } from "../../src/resources/resource-types.ts";
import { MINUTE } from "../../src/util/time.ts";
import { type Fault, NO_FAULTS } from "./faults.ts";
import { isReady } from "./invariants/at-rest.ts";
import { createAll, createKey, rotateNow, startWithAll } from "./scenarios.ts";
import { SimWorld } from "./sim-world.ts";

const lostResponse = (nth: number): Fault => ({
  on: "call",
  select: { server: "iam", operation: "issueKey", nth },
  fault: { kind: "Reset", when: "AfterCommit" },
});

function allReady(world: SimWorld): readonly boolean[] {
  return world.list(apiKeyType).map(isReady);
}

test("three ApiKeys of one account whose responses were lost are Ready within a minute", async () => {
  const faults = [1, 2, 3].map(lostResponse);
  const world = new SimWorld({ seed: 1, plan: { name: "lost", faults } });
  world.startOperator();
  world.unleash();
  createAll(world);
  for (const name of ["two", "three"]) createKey(world, name);
  await world.kernel.advance(MINUTE);
  expect(world.faults.struck.size).toBe(3);
  expect(allReady(world)).toEqual([true, true, true]);
});

test("a Secret that is deleted after two rotations is made again within a minute", async () => {
  const world = new SimWorld({ seed: 1, plan: NO_FAULTS });
  await startWithAll(world);
  for (const token of ["one", "two"]) {
    rotateNow(world, token);
    await world.kernel.advance(MINUTE);
  }
  world.delete(secretType, "ci");
  await world.kernel.advance(MINUTE);
  expect(world.console.world.keys.size).toBe(4);
  expect(allReady(world)).toEqual([true]);
});
