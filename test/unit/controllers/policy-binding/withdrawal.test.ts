/** What an administrator takes back is gone, whatever the tenant has set. */
import { describe, expect, test } from "vitest";
import { annotations, FINALIZER } from "../../../../src/api/meta.ts";
import { serviceAccountType } from "../../../../src/controllers/resource-types.ts";
import { MINUTE, SECOND } from "../../../../src/util/time.ts";
import { accountWorld, KEY, type WorldOptions } from "./account-world.ts";

type World = Awaited<ReturnType<typeof accountWorld>>;

async function withTwo(options: WorldOptions = {}, spec: object = {}, metadata: object = {}) {
  const world = await accountWorld(options);
  world.bindAtConsole(["pol-member"]);
  world.bind("reading", ["pol-read"], spec, metadata);
  world.bind("deploying", ["pol-deploy"], spec, metadata);
  await world.settle();
  return world;
}

const planOnly = { annotations: { [annotations.planOnly]: "true" } };
const NO_RIGHT_TO_RETAIN = { retainPolicies: false };
const deleting = { deletionTimestamp: "2026-01-01T00:00:00Z" };
const notReady = (reason: string) => ({
  conditions: [
    {
      type: "Ready",
      status: "False",
      reason,
      message: "",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    },
  ],
});

/** What a tenant may do so that an account is not worked on. */
const shields: readonly [string, (world: World) => void][] = [
  ["nothing", () => undefined],
  ["spec.suspend of the ServiceAccount", (world) => world.putAccount({ suspend: true })],
  ["a plan-only ServiceAccount", (world) => world.putAccount({}, planOnly)],
  ["a plan-only PolicyBinding", (world) => world.bind("reading", ["pol-read"], {}, planOnly)],
  ["a suspended PolicyBinding", (world) => world.bind("reading", ["pol-read"], { suspend: true })],
  ["an inactive account", (world) => world.putAccount({}, {}, notReady("ServiceAccountNotActive"))],
  [
    "an import that is not granted any more",
    (world) => world.putAccount({}, {}, notReady("NotGranted")),
  ],
  [
    "a suspended ServiceAccount that is being deleted",
    (world) => world.putAccount({ suspend: true }, deleting, notReady("Suspended")),
  ],
  [
    "a ServiceAccount whose deletion waits for an ApiKey",
    (world) => {
      world.unbind("reading");
      world.unbind("deploying");
      world.putAccount({ deletionPolicy: "Revoke" }, deleting, notReady("InUse"));
    },
  ],
  [
    "a ServiceAccount whose deletion is not possible",
    (world) =>
      world.putAccount({ deletionPolicy: "Delete" }, deleting, notReady("DeleteNotPossible")),
  ],
];

describe("a policy that is taken out of the grant", () => {
  test.each(shields)("is unbound behind %s, and nothing else", async (_, raise) => {
    const world = await withTwo();
    raise(world);
    await world.pass();
    world.grant(["pol-deploy"]);
    await world.settle();
    expect(world.bound()).not.toContain("pol-read");
    expect(world.bound()).toContain("pol-member");
    const calls = world.calls();
    await world.settle();
    expect(world.calls()).toBe(calls);
  });

  test("is unbound although its PolicyBinding was deleted and retained it, with the right to", async () => {
    const world = await withTwo({}, { deletionPolicy: "Retain" });
    world.unbind("reading");
    await world.settle();
    expect(world.bound()).toContain("pol-read");
    world.grant(["pol-deploy"]);
    await world.settle();
    expect(world.bound()).toEqual(["pol-deploy", "pol-member"]);
  });

  test("stays if it was bound outside the operator", async () => {
    const world = await withTwo();
    world.grant([]);
    await world.settle();
    expect(world.bound()).toEqual(["pol-member"]);
  });
});

describe("revoked access", () => {
  test.each(shields)("unbinds everything behind %s", async (_, raise) => {
    const world = await withTwo();
    raise(world);
    await world.pass();
    world.putAccount({ access: "Revoked" });
    await world.settle();
    expect(world.bound()).toEqual([]);
  });
});

describe("suspension of the ServiceAccount", () => {
  test("otherwise holds everything, deletions included, and makes no call", async () => {
    const world = await withTwo();
    world.putAccount({ suspend: true });
    await world.pass();
    const calls = world.calls();
    world.unbind("reading");
    world.bind("deploying", ["pol-member"]);
    await world.settle();
    expect(world.bound()).toEqual(["pol-deploy", "pol-member", "pol-read"]);
    expect(world.exists("reading")).toBe(true);
    expect(world.stalled("deploying")).toBe("ServiceAccountSuspended");
    expect(world.calls()).toBe(calls);
  });

  test("holds a deletion while another policy is withdrawn", async () => {
    const world = await withTwo();
    world.putAccount({ suspend: true });
    world.unbind("deploying");
    world.grant(["pol-deploy"]);
    await world.settle();
    expect(world.bound()).toEqual(["pol-deploy", "pol-member"]);
    expect(world.exists("deploying")).toBe(true);
  });
});

describe("Retain without the right to it", () => {
  test.each([
    ["deletionPolicy: Retain", { deletionPolicy: "Retain" }],
    ["suspend", { suspend: true }],
  ])("is Revoke, and says so: %s", async (_, spec) => {
    const world = await withTwo(NO_RIGHT_TO_RETAIN);
    world.bind("reading", ["pol-read"], spec);
    await world.pass();
    world.unbind("reading");
    await world.settle();
    expect(world.exists("reading")).toBe(false);
    expect(world.bound()).toEqual(["pol-deploy", "pol-member"]);
    const { note } = world.events.find(({ reason }) => reason === "RetainNotGranted") ?? {};
    expect(note).toContain("pol-read were unbound");
  });

  test("is said before the deletion", async () => {
    const world = await withTwo(NO_RIGHT_TO_RETAIN, { deletionPolicy: "Retain" });
    expect(world.message("reading")).toContain("a deletion unbinds them");
  });

  test("waits where the account is not available", async () => {
    const world = await withTwo(NO_RIGHT_TO_RETAIN, { deletionPolicy: "Retain" });
    world.putAccount({}, {}, notReady("Unavailable"));
    world.unbind("reading");
    await world.pass();
    expect(world.exists("reading")).toBe(true);
  });
});

describe("a namespace without a grant", () => {
  test("loses what the operator bound after the grace period, named before", async () => {
    const world = await withTwo();
    world.setGranted(false);
    const { requeueAfterMs } = await world.pass();
    expect(requeueAfterMs).toBeLessThanOrEqual(10 * MINUTE);
    const { note } = world.events.find(({ reason }) => reason === "GrantRemoved") ?? {};
    expect(note).toMatch(/pol-read.* will be unbound at 2026-01-01T00:10:00Z/);
    expect(world.stalled("reading")).toBe("NotGranted");
    expect(world.message("reading")).toContain("pol-read will be unbound at 2026-01-01T00:10:00Z");
    const writes = world.kube.writes.length;
    await world.clock.advance(9 * MINUTE + 59 * SECOND);
    world.restart();
    await world.pass();
    expect(world.bound()).toEqual(["pol-deploy", "pol-member", "pol-read"]);
    expect(world.kube.writes).toHaveLength(writes);
    await world.clock.advance(SECOND);
    await world.settle();
    expect(world.bound()).toEqual(["pol-member"]);
    expect(world.stalled("reading")).toBe("NotGranted");
    expect(world.record()?.ungrantedTime).toBeUndefined();
    const calls = world.calls();
    await world.clock.advance(11 * MINUTE);
    await world.pass();
    expect(world.calls()).toBe(calls);
  });

  test("keeps everything if a grant matches again in time, and the period starts over", async () => {
    const world = await withTwo();
    world.setGranted(false);
    await world.pass();
    await world.clock.advance(9 * MINUTE);
    world.setGranted(true);
    await world.settle();
    expect(world.ready("reading")).toBe("Synced");
    world.setGranted(false);
    await world.pass();
    await world.clock.advance(5 * MINUTE);
    await world.pass();
    expect(world.bound()).toHaveLength(3);
  });

  test("loses it at once with 0s, and never with Never", async () => {
    const atOnce = await withTwo({ gracePeriodMs: 0 });
    atOnce.setGranted(false);
    await atOnce.settle();
    expect(atOnce.bound()).toEqual(["pol-member"]);
    const never = await withTwo({ gracePeriodMs: "Never" });
    never.setGranted(false);
    await never.settle();
    await never.clock.advance(60 * MINUTE);
    await never.settle();
    expect(never.bound()).toHaveLength(3);
  });

  test.each(shields)("loses it behind %s", async (_, raise) => {
    const world = await withTwo();
    raise(world);
    world.setGranted(false);
    await world.pass();
    await world.clock.advance(10 * MINUTE);
    await world.settle();
    expect(world.bound()).toEqual(["pol-member"]);
  });

  test("gets nothing back while the console cannot be called, and the period is not extended", async () => {
    const world = await withTwo();
    world.setGranted(false);
    await world.pass();
    await world.clock.advance(10 * MINUTE);
    await world.console.faults.setReachability("refuse");
    for (let tries = 0; tries < 3; tries += 1) await world.pass().catch(() => undefined);
    await world.console.faults.setReachability("up");
    await world.settle();
    expect(world.bound()).toEqual(["pol-member"]);
  });

  test("may still delete its PolicyBindings, which revokes", async () => {
    const world = await withTwo();
    world.setGranted(false);
    await world.pass();
    world.unbind("reading");
    await world.settle();
    expect(world.exists("reading")).toBe(false);
    expect(world.bound()).toEqual(["pol-deploy", "pol-member"]);
  });

  test("whose account was found at another console is left alone", async () => {
    const world = await withTwo();
    world.putAccount({}, {}, { consoleURL: "https://other.example.com" });
    world.setGranted(false);
    await world.pass();
    await world.clock.advance(11 * MINUTE);
    await world.settle();
    expect(world.bound()).toHaveLength(3);
  });
});

test("a status that names another account is not acted on, even to revoke", async () => {
  const world = await withTwo();
  world.putAccount({ access: "Revoked" }, {}, notReady("ServiceAccountMismatch"));
  await world.settle();
  expect(world.bound()).toHaveLength(3);
  expect(world.kube.peek(serviceAccountType, KEY)?.metadata.finalizers).toEqual([FINALIZER]);
});
