/** Stories about administrators who act in the console, without the operator. */
import { MINUTE } from "../../../src/util/time.ts";
import { gapOf, REPLACED_MS } from "../invariants/always.ts";
import { accountsOf, apiKeysOf } from "../invariants/view.ts";
import { fromRest, type Scenario } from "../scenarios.ts";
import type { SimWorld } from "../sim-world.ts";

const atEnd: Scenario["atEnd"] = (world) =>
  apiKeysOf(world).map((apiKey) => gapOf(world, apiKey))[0];

function deleteKey(world: SimWorld): void {
  const keyId = apiKeysOf(world)[0]?.status?.current?.keyId;
  if (keyId !== undefined) world.deleteKeyInConsole(keyId);
}

/** Disabled until a read shows it, and enabled again. */
async function disableForAWhile(world: SimWorld): Promise<void> {
  const { accounts } = world.console.world;
  const saId = accountsOf(world)[0]?.status?.saId ?? "";
  // A fault may have kept the operator from making it, or deletes it meanwhile.
  if (!accounts.has(saId)) return;
  world.setAccountStatusInConsole(saId, "inactive");
  await world.kernel.advance(5 * MINUTE + 5_000);
  const state = accountsOf(world)[0]?.status?.state;
  if (world.faults.struck.size === 0 && state !== "inactive")
    throw new Error(`the account is disabled and shown as ${state}`);
  if (accounts.has(saId)) world.setAccountStatusInConsole(saId, "active");
}

export const outsideScenarios: readonly Scenario[] = [
  fromRest("key deleted in the console", deleteKey, { epochs: 2, thenMs: REPLACED_MS, atEnd }),
  fromRest("account disabled in the console", disableForAWhile, { atEnd }),
];
