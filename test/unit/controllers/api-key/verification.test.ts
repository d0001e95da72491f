/** A key in use that is ended outside the operator: checked as soon as a list lacks it, reported at once, replaced soon. */
import { describe, expect, test } from "vitest";
import { annotations } from "../../../../src/api/meta.ts";
import { DAY, HOUR, MINUTE, SECOND, toIso8601 } from "../../../../src/util/time.ts";
import { KeyWorld } from "./world.ts";

const opened = async (): Promise<KeyWorld> => {
  const world = new KeyWorld();
  world.apiKey();
  await world.settle();
  await world.clock.advance(10 * SECOND);
  return world;
};

/** The account's keys are listed now. */
const list = (world: KeyWorld): void => {
  const live = world.console.keys.filter(({ state }) => state === "Live");
  const liveKeyIds = live.map(({ keyId }) => keyId);
  world.account({ liveKeyIds, lastKeyListTime: toIso8601(world.clock.now()) });
};

const endKey = (world: KeyWorld, keyId: string): void => {
  for (const key of world.console.keys) if (key.keyId === keyId) key.state = "Deleted";
};

/** Runs as often as the runs ask for, for so long; answers how many there were. */
const runFor = async (world: KeyWorld, ms: number): Promise<number> => {
  const end = world.clock.now() + ms;
  for (let count = 1; ; count += 1) {
    const result = await world.pass();
    const wait = result instanceof Error ? 5 * SECOND : result;
    if (world.clock.now() + wait > end) return count;
    await world.clock.advance(Math.max(wait, 10));
  }
};

describe("a key that was deleted in the console", () => {
  test("is reported with the list that lacks it, however short ago it was checked, and replaced within a minute", async () => {
    const world = await opened();
    endKey(world, "sak_1");
    list(world);
    await world.pass();
    expect(world.condition("Ready")).toMatchObject({ status: "False", reason: "KeyRefused" });
    expect(world.condition("Ready").message).toContain("deleted outside the operator");
    expect(world.condition("Verified")).toMatchObject({ status: "False", reason: "KeyRefused" });
    await runFor(world, MINUTE);
    expect(world.entry("keyId")).toBe("sak_2");
    expect(world.condition("Ready")).toMatchObject({ status: "True" });
    expect(world.posts()).toBe(2);
  });

  test("of an account that turns out to be disabled is not replaced before the account is enabled", async () => {
    const world = await opened();
    world.console.accepts = () => false;
    world.console.listsNoKeys = true;
    world.console.accountStatus = "inactive";
    world.account({ liveKeyIds: [], lastKeyListTime: toIso8601(world.clock.now()) });
    await runFor(world, 10 * MINUTE);
    expect(world.posts()).toBe(1);
    expect(world.condition("IssuanceAllowed")).toMatchObject({
      status: "False",
      reason: "ServiceAccountNotReady",
    });
    world.console.accepts = ({ state }) => state === "Live";
    world.console.accountStatus = "active";
    await runFor(world, 2 * MINUTE);
    expect(world.posts()).toBe(1);
    expect(world.condition("Ready")).toMatchObject({ status: "True" });
  });

  test("is found by a run that a person asks for, before any list", async () => {
    const world = await opened();
    endKey(world, "sak_1");
    await world.pass();
    expect(world.condition("Ready")).toMatchObject({ status: "True" });
    world.edit("apikeys", "ci", ({ metadata }) => {
      metadata.annotations = { [annotations.reconcileRequestedAt]: "now" };
    });
    await world.pass();
    expect(world.condition("Ready")).toMatchObject({ status: "False", reason: "KeyRefused" });
  });

  test("is found after the console was down in the moment of the check", async () => {
    const world = await opened();
    endKey(world, "sak_1");
    list(world);
    world.console.isDown = true;
    expect(await world.pass()).toBeInstanceOf(Error);
    world.console.isDown = false;
    await runFor(world, MINUTE);
    expect(world.entry("keyId")).toBe("sak_2");
  });

  test("is found although its successor is not accepted either", async () => {
    const world = await opened();
    world.console.accepts = ({ keyId, state }) => keyId === "sak_1" && state === "Live";
    world.rotate("now");
    await runFor(world, MINUTE);
    endKey(world, "sak_1");
    list(world);
    await runFor(world, 10 * SECOND);
    expect(world.condition("Verified")).toMatchObject({ status: "False" });
    // The successor is given up an hour after its first refusal, and another one is issued.
    await runFor(world, 58 * MINUTE);
    expect(world.posts()).toBe(2);
    world.console.accepts = ({ state }) => state === "Live";
    await runFor(world, 2 * MINUTE);
    expect(world.holdsLivePair()).toBe(true);
  });
});

describe("a key that a list lacks although it works", () => {
  test("is checked again, ever more rarely, and kept", async () => {
    const world = await opened();
    let checks = 0;
    world.console.accepts = () => {
      checks += 1;
      return true;
    };
    world.console.listsNoKeys = true;
    world.account({ liveKeyIds: [], lastKeyListTime: toIso8601(world.clock.now()) });
    await runFor(world, 10 * MINUTE);
    expect(checks).toBeGreaterThanOrEqual(4);
    expect(checks).toBeLessThanOrEqual(6);
    await runFor(world, DAY);
    expect(checks).toBeLessThanOrEqual(6 + 4 + 24);
    expect(world.posts()).toBe(1);
  });

  test("is replaced when it stops working later", async () => {
    const world = await opened();
    world.console.listsNoKeys = true;
    world.account({ liveKeyIds: [], lastKeyListTime: toIso8601(world.clock.now()) });
    await runFor(world, 3 * HOUR);
    endKey(world, "sak_1");
    await runFor(world, 62 * MINUTE);
    expect(world.entry("keyId")).toBe("sak_2");
  });
});

test("a key in order is not checked again", async () => {
  const world = await opened();
  let checks = 0;
  world.console.accepts = () => {
    checks += 1;
    return true;
  };
  list(world);
  await runFor(world, 20 * DAY);
  expect(checks).toBe(0);
});
