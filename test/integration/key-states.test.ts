/** Keys and accounts that an administrator ends in the console, on a real API server. The intervals are shortened. */

import { expect, test } from "vitest";
import { DAY, SECOND } from "../../src/util/time.ts";
import { inWorld } from "../real-world/in-world.ts";
import type { World } from "../real-world/world.ts";

async function begin(world: World): Promise<{ readonly saId: string; readonly keyId: string }> {
  await world.serviceAccount("ci");
  await world.ready("ServiceAccount", "ci");
  await world.apiKey("key");
  await world.ready("ApiKey", "key");
  const { saId = "" } = (await world.get("ServiceAccount", "ci")).status ?? {};
  const { keyId = "" } = await world.entries("key");
  return { saId, keyId };
}

const stateOf = async (world: World, keyId: string) =>
  (await world.get("ApiKey", "key")).status?.superseded?.find((key) => key.keyId === keyId)?.state;

test.each(["disabled", "expired"])(
  "a key that is %s in the console is replaced after the next list",
  inWorldOf(async (world, how) => {
    const { keyId } = await begin(world);
    if (how === "disabled") world.iam.world.setKeyStatus(keyId, "inactive");
    else world.iam.world.expireKey(keyId);
    await world.reconcile("ServiceAccount", "ci", "after the end");
    await world.condition("ApiKey", "key", "Ready", "False", "KeyRefused");
    await world.until("another key", async () => (await world.entries("key")).keyId !== keyId);
    await world.ready("ApiKey", "key");
    expect(await world.holdsLivePair("key")).toBe(true);
    await world.until("its state", async () => (await stateOf(world, keyId)) === "Inactive");
    if (how !== "disabled") return;
    world.iam.world.setKeyStatus(keyId, "active");
    await world.reconcile("ServiceAccount", "ci", "after it was enabled");
    await world.until("its state", async () => (await stateOf(world, keyId)) === "Live");
  }),
);

test(
  "ApiKeys of an account that is disabled, or deleted, are not Ready from the same read on",
  inWorld({}, async (world) => {
    const { saId, keyId } = await begin(world);
    world.iam.world.setAccountStatus(saId, "inactive");
    await world.reconcile("ServiceAccount", "ci", "after it was disabled");
    await world.condition("ServiceAccount", "ci", "Ready", "False", "ServiceAccountNotActive");
    await world.condition("ApiKey", "key", "Ready", "False", "ServiceAccountNotReady");
    world.iam.world.setAccountStatus(saId, "active");
    await world.reconcile("ServiceAccount", "ci", "after it was enabled");
    await world.ready("ApiKey", "key");
    expect((await world.entries("key")).keyId).toBe(keyId);
    world.iam.world.deleteAccount(saId);
    await world.reconcile("ServiceAccount", "ci", "after it was deleted");
    await world.condition("ServiceAccount", "ci", "Ready", "False", "ServiceAccountGone");
    await world.condition("ApiKey", "key", "Ready", "False", "ServiceAccountNotReady");
  }),
);

test(
  "a shorter lifetime in the answer is recorded, and a key that is issued again is delivered",
  inWorld({}, async (world) => {
    world.iam.shapes = { ...world.iam.shapes, issuedKey: "full" };
    world.iam.world.settings.maxKeyDays = 2;
    const { keyId } = await begin(world);
    const { current } = (await world.get("ApiKey", "key")).status ?? {};
    const lifetime =
      Date.parse(current?.expirationTime ?? "") - Date.parse(current?.issueTime ?? "");
    // Both times are in whole seconds.
    expect(Math.abs(lifetime - 2 * DAY)).toBeLessThanOrEqual(SECOND);
    const before = await world.entries("key");
    world.iam.world.settings.reissuesKeys = true;
    await world.rotate("key", "again");
    await world.until(
      "the secret",
      async () => (await world.entries("key")).secret !== before.secret,
    );
    const after = await world.entries("key");
    expect(after.keyId).toBe(keyId);
    expect(world.iam.world.isPair(keyId, after.secret ?? "")).toBe(true);
    await world.ready("ApiKey", "key");
    const reasons = async () => (await world.events("key")).map(({ reason }) => reason);
    await world.until("the event", async () => (await reasons()).includes("KeyReissued"));
    expect(await reasons()).toContain("LifetimeShortened");
  }),
);

function inWorldOf(tell: (world: World, how: string) => Promise<void>) {
  return (how: string) => inWorld({}, (world) => tell(world, how))();
}
