/** Stories with two replicas of the operator, of which one leads. */
import { MINUTE } from "../../src/util/time.ts";
import { createAll, rotateNow, type Scenario } from "./scenarios.ts";

export const replicaScenarios: readonly Scenario[] = [
  {
    name: "two replicas, first key",
    flags: [],
    settleMs: 20 * MINUTE,
    epochs: 1,
    play: async (world) => {
      world.startOperator("a");
      world.startOperator("b", 60_000);
      world.unleash();
      createAll(world);
      await world.kernel.advance(2 * MINUTE);
    },
  },
  {
    name: "two replicas, rotation",
    flags: [],
    settleMs: 20 * MINUTE,
    epochs: 2,
    play: async (world) => {
      world.startOperator("a");
      world.startOperator("b", -60_000);
      createAll(world);
      await world.kernel.advance(2 * MINUTE);
      world.unleash();
      rotateNow(world, "one");
      await world.kernel.advance(10 * MINUTE);
    },
  },
];
