/** A syncBindings call without a usable response that takes effect late: what was withdrawn since is gone again soon. */
import { describe, expect, test } from "vitest";
import { HOUR, MINUTE, SECOND } from "../../../../src/util/time.ts";
import { accountWorld, type WorldOptions } from "./account-world.ts";

type World = Awaited<ReturnType<typeof accountWorld>>;

const METRIC = "iam_operator_reappeared_policies_total";

/** An account whose first syncBindings gets a 504, and whose policies are bound by the next one. */
async function withUnansweredSync(options: WorldOptions = {}) {
  const world = await accountWorld(options);
  const action = { kind: "status", status: 504 } as const;
  world.console.faults.add({ operation: "syncBindings", when: "beforeCommit", action });
  world.bind("reading", ["pol-read"]);
  await expect(world.pass()).rejects.toThrow();
  await world.clock.advance(SECOND);
  await world.pass();
  expect(world.bound()).toEqual(["pol-read"]);
  return world;
}

/** Runs when the queue would, for so long; answers for how long the policy was bound. */
async function play(
  world: World,
  forMs: number,
  lateCommit?: { readonly afterMs: number; readonly policyIds: readonly string[] },
) {
  const start = world.clock.now();
  let nextRun = start;
  let boundMs = 0;
  for (let at = start; at < start + forMs; at += SECOND / 2) {
    if (lateCommit !== undefined && at === start + lateCommit.afterMs)
      world.bindAtConsole(lateCommit.policyIds);
    if (at >= nextRun) {
      const { requeueAfterMs = HOUR } = await world.pass();
      nextRun = at + requeueAfterMs;
    }
    if (world.bound().includes("pol-read")) boundMs += SECOND / 2;
    await world.clock.advance(SECOND / 2);
  }
  return boundMs;
}

const revoke = (world: World) => world.putAccount({ access: "Revoked" });
const restart = (world: World) => world.restart();
const nothing = () => undefined;

describe("a call that binds late what was withdrawn", () => {
  test.each([
    ["access is revoked", revoke, nothing],
    ["access is revoked, then another leader takes over", revoke, restart],
    ["the PolicyBinding is deleted", (world: World) => world.unbind("reading"), nothing],
    [
      "it is deleted, then another leader takes over",
      (world: World) => world.unbind("reading"),
      restart,
    ],
    ["its policies change", (world: World) => world.bind("reading", ["pol-deploy"]), nothing],
    ["the grant loses the policy", (world: World) => world.grant(["pol-deploy"]), nothing],
  ])("has it bound for less than 5 s: %s", async (_, withdraw, then) => {
    const world = await withUnansweredSync();
    withdraw(world);
    await world.pass();
    then(world);
    const lateCommit = { afterMs: 30 * SECOND, policyIds: ["pol-read"] };
    expect(await play(world, 3 * MINUTE, lateCommit)).toBeLessThan(5 * SECOND);
    expect(world.bound()).not.toContain("pol-read");
    const { note } = world.events.find(({ reason }) => reason === "PoliciesReappeared") ?? {};
    expect(note).toContain("bound pol-read again");
    expect(await world.metrics.render()).toContain(`${METRIC} 1`);
  });

  test("is found after an outage of the console as well, whose calls all failed", async () => {
    const world = await withUnansweredSync();
    revoke(world);
    const action = { kind: "status", status: 502 } as const;
    const outage = world.console.faults.add({ when: "beforeCommit", times: "always", action });
    for (let tries = 0; tries < 5; tries += 1) {
      await world.pass().catch(() => undefined);
      await world.clock.advance(MINUTE);
    }
    outage.remove();
    await world.pass();
    const lateCommit = { afterMs: 30 * SECOND, policyIds: ["pol-read"] };
    expect(await play(world, MINUTE, lateCommit)).toBeLessThan(10 * SECOND);
  });

  test("leaves policies alone that were bound outside the operator", async () => {
    const world = await accountWorld();
    world.bindAtConsole(["pol-member"]);
    const action = { kind: "reset" } as const;
    world.console.faults.add({ operation: "syncBindings", when: "beforeCommit", action });
    world.bind("reading", ["pol-read"]);
    await expect(world.pass()).rejects.toThrow();
    await world.settle();
    world.unbind("reading");
    await world.settle();
    await play(world, MINUTE, { afterMs: 10 * SECOND, policyIds: ["pol-member", "pol-read"] });
    expect(world.bound()).toEqual(["pol-member"]);
  });

  test("leaves a policy alone that a deleted PolicyBinding retains", async () => {
    const world = await withUnansweredSync();
    world.bind("reading", ["pol-read"], { deletionPolicy: "Retain" });
    await world.pass();
    world.unbind("reading");
    await play(world, 2 * MINUTE);
    expect(world.bound()).toEqual(["pol-read"]);
  });

  test("is removed again and again, without a pause for contention", async () => {
    const world = await withUnansweredSync();
    world.unbind("reading");
    await world.pass();
    for (let count = 0; count < 8; count += 1)
      await play(world, 10 * SECOND, { afterMs: 0, policyIds: ["pol-read"] });
    expect(world.bound()).toEqual([]);
  });
});

describe("a call whose answer cannot be read back", () => {
  test("is followed by more calls instead, while access is revoked", async () => {
    const world = await withUnansweredSync({ shapes: { bindings: "unreadable" } });
    revoke(world);
    await world.pass();
    const lateCommit = { afterMs: 30 * SECOND, policyIds: ["pol-read"] };
    expect(await play(world, MINUTE, lateCommit)).toBeLessThan(5 * SECOND);
  });
});

describe("reading the bindings more often", () => {
  const reads = (world: World) => world.console.requests.count("listBindings");

  test("happens seven times within a minute, then as scheduled", async () => {
    const world = await withUnansweredSync();
    const before = reads(world);
    await play(world, MINUTE);
    // One of the seven was the retry itself.
    expect(reads(world) - before).toBe(6);
    await play(world, 8 * MINUTE);
    expect(reads(world) - before).toBeLessThanOrEqual(7);
  });

  test("is told until when, and ends by itself", async () => {
    const world = await withUnansweredSync();
    expect(world.message("reading")).toContain("may still take effect");
    expect(world.message("reading")).toContain("until 2026-01-01T00:10:00Z");
    await play(world, 11 * MINUTE);
    expect(world.message("reading")).toBe("1 policy is bound.");
    expect(world.record()?.unansweredSync).toBeUndefined();
  });

  test("does not happen after a call with a known outcome, nor after one that never left", async () => {
    const world = await accountWorld();
    const action = { kind: "status", status: 403 } as const;
    world.console.faults.add({ operation: "syncBindings", when: "beforeCommit", action });
    world.bind("reading", ["pol-read"]);
    await world.pass().catch(() => undefined);
    await world.pass();
    await world.console.faults.setReachability("refuse");
    revoke(world);
    await world.pass().catch(() => undefined);
    await world.console.faults.setReachability("up");
    await world.pass();
    expect(world.bound()).toEqual([]);
    const before = reads(world);
    await play(world, MINUTE);
    expect(reads(world) - before).toBe(0);
  });

  test("costs a write only after a call without a usable response", async () => {
    const world = await accountWorld();
    world.bind("reading", ["pol-read"]);
    await world.settle();
    // Finalizer, intent, record, status.
    expect(world.kube.writes).toHaveLength(4);
  });
});

describe("revoked access", () => {
  test("is confirmed by a read, once an hour", async () => {
    const world = await accountWorld();
    world.bind("reading", ["pol-read"]);
    await world.settle();
    revoke(world);
    await world.pass();
    expect(world.record()).toMatchObject({ policyCount: 0 });
    expect(world.record()?.confirmationTime).toBeUndefined();
    await play(world, 11 * MINUTE);
    const { confirmationTime } = world.record() ?? {};
    expect(confirmationTime).toBeDefined();
    const writes = world.kube.writes.length;
    await play(world, 40 * MINUTE);
    expect(world.record()?.confirmationTime).toBe(confirmationTime);
    expect(world.kube.writes).toHaveLength(writes);
  });
});
