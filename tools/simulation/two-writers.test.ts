/** Two processes that lead at the same time, at a console that does not show who created an account. */
import { expect, test } from "vitest";
import { serviceAccountType } from "../../src/resources/resource-types.ts";
import { MINUTE } from "../../src/util/time.ts";
import { treeAt } from "../api-server/tree.ts";
import { NO_FAULTS } from "./faults.ts";
import { createAll, inNamespace } from "./scenarios.ts";
import { SimWorld } from "./sim-world.ts";

test.each([0, 1, 3, 4])(
  "each object gets one account, which its status names: seed %i",
  async (seed) => {
    const world = new SimWorld({
      seed,
      plan: NO_FAULTS,
      flags: ["--leader-elect=false"],
      shapes: { accountDescriptions: "omitted" },
    });
    for (const name of ["a", "b"]) world.startOperator(name);
    createAll(world);
    for (let n = 0; n < 20; n += 1)
      world.create(serviceAccountType, { metadata: inNamespace(`bot-${n}`), spec: {} });
    await world.kernel.advance(20 * MINUTE);
    const named = world.list(serviceAccountType).map((object) => treeAt(object, "status").saId);
    expect(named.toSorted()).toEqual([...world.console.world.accounts.keys()].toSorted());
  },
);
