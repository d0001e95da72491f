import { describe, expect, test } from "vitest";
import { annotations } from "../../../../src/api/meta.ts";
import { toRef } from "../../../../src/controllers/policy-binding/account-store.ts";
import {
  policyBindingType,
  serviceAccountType,
} from "../../../../src/controllers/resource-types.ts";
import { HOUR, MINUTE } from "../../../../src/util/time.ts";
import { accountWorld, KEY, type WorldOptions } from "./account-world.ts";

/** An account with one PolicyBinding, of which everything that can be is done. */
async function withReading(options: WorldOptions = {}) {
  const world = await accountWorld(options);
  world.bind("reading", ["pol-read"]);
  await world.settle();
  return world;
}

const request = (token: string) => ({
  annotations: { [annotations.reconcileRequestedAt]: token },
});

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

describe("binding", () => {
  test("several bindings of one account are submitted as one list", async () => {
    const world = await accountWorld();
    world.bind("reading", ["pol-read"]);
    world.bind("deploying", ["pol-deploy", "pol-read"]);
    await world.settle();
    expect(world.puts()).toHaveLength(1);
    expect(world.bound()).toEqual(["pol-deploy", "pol-read"]);
    expect(world.status("deploying")).toMatchObject({
      appliedPolicyIds: ["pol-deploy", "pol-read"],
      policyCount: 2,
      lastSyncTime: "2026-01-01T00:00:00Z",
    });
    expect(world.ready("reading")).toBe("Synced");
    expect(world.record()).toMatchObject({ foreignPolicyIds: [], policyCount: 2 });
    expect(world.record().policyIds.toSorted()).toEqual(["pol-deploy", "pol-read"]);
  });

  test("an account that was found at another console gets no policies", async () => {
    const world = await accountWorld();
    world.putAccount({}, {}, { consoleURL: "https://fake.example.com" });
    world.bind("reading", ["pol-read"]);
    await world.settle();
    expect(world.puts()).toEqual([]);
    expect(world.ready("reading")).toBe("WaitingForServiceAccount");
    world.putAccount({}, {}, { consoleURL: world.console.url });
    await world.settle();
    expect(world.bound()).toEqual(["pol-read"]);
  });

  test("finalizer and intent are written before the list is submitted", async () => {
    const world = await accountWorld();
    world.bind("reading", ["pol-read"]);
    const seen: string[] = [];
    world.kube.onWrite = ({ verb }, carryOut) => {
      seen.push(`${verb} ${world.puts().length}`);
      return carryOut();
    };
    await world.settle();
    expect(seen.slice(0, 3)).toEqual(["patch 0", "apply 0", "apply 1"]);
  });

  test("an idle pass makes no call and no write", async () => {
    const world = await withReading();
    const before = [world.calls(), world.kube.writes.length, world.kube.reads];
    await world.pass();
    await world.pass();
    expect([world.calls(), world.kube.writes.length, world.kube.reads]).toEqual(before);
  });

  test("a restart makes no call and no write", async () => {
    const world = await withReading();
    const before = [world.calls(), world.kube.writes.length];
    world.restart();
    await world.pass();
    expect([world.calls(), world.kube.writes.length]).toEqual(before);
  });

  test("a binding whose policies are bound already gets its finalizer before it is ready", async () => {
    const world = await withReading();
    world.bind("also-reading", ["pol-read"]);
    await world.settle();
    expect(world.ready("also-reading")).toBe("Synced");
    world.unbind("reading");
    await world.settle();
    world.unbind("also-reading");
    await world.settle();
    expect(world.exists("also-reading")).toBe(false);
    expect(world.bound()).toEqual([]);
  });

  test("an account that no binding names is never asked about", async () => {
    const world = await accountWorld({ account: { foreignPolicies: "Remove" } });
    world.bindAtConsole(["pol-member"]);
    await world.settle();
    expect(world.calls()).toBe(0);
  });

  test("nothing is called while a cache is not synced", async () => {
    const world = await accountWorld({ synced: false });
    world.bind("reading", ["pol-read"]);
    expect(await world.pass()).toEqual({ requeueAfterMs: 1_000 });
    expect(world.calls()).toBe(0);
  });

  test("nothing is called while a cache has not seen our own last write", async () => {
    const world = await withReading();
    world.kube.watching = false;
    const reading = { namespace: KEY.namespace, name: "reading" };
    const change = { metadata: { labels: { team: "a" } } };
    await world.kube.client.mergePatch(policyBindingType, reading, change);
    const before = world.calls();
    expect(await world.pass()).toEqual({ requeueAfterMs: 1_000 });
    expect(world.calls()).toBe(before);
  });

  test("a binding that the cache does not hold yet is in the list anyway", async () => {
    const world = await accountWorld();
    world.bind("reading", ["pol-read"]);
    world.kube.watching = false;
    world.bind("deploying", ["pol-deploy"]);
    world.kube.watching = true;
    await world.pass();
    expect(world.puts()).toEqual([expect.arrayContaining(["pol-read", "pol-deploy"])]);
  });

  test("a binding missing from a list causes no call and no revocation (S20)", async () => {
    const world = await accountWorld();
    world.bind("reading", ["pol-read"]);
    world.bind("deploying", ["pol-deploy"]);
    await world.settle();
    world.kube.put(policyBindingType, {
      ...world.kube.peek(policyBindingType, { namespace: KEY.namespace, name: "deploying" }),
      metadata: {
        ...world.kube.peek(policyBindingType, { namespace: KEY.namespace, name: "deploying" })
          .metadata,
        finalizers: [],
        deletionTimestamp: "2026-01-01T00:00:00Z",
      },
    });
    await world.settle();
    expect(world.bound()).toEqual(["pol-deploy", "pol-read"]);
    expect(world.puts()).toHaveLength(1);
  });
});

describe("deleting", () => {
  test("a deleted binding is held until its policies are unbound", async () => {
    const world = await accountWorld();
    world.bindAtConsole(["pol-member"]);
    world.bind("reading", ["pol-read"]);
    await world.settle();
    world.unbind("reading");
    await world.settle();
    expect(world.bound()).toEqual(["pol-member"]);
    expect(world.exists("reading")).toBe(false);
  });

  test("a failed revocation keeps the binding", async () => {
    const world = await withReading();
    world.console.faults.add({
      operation: "syncBindings",
      when: "beforeCommit",
      action: { kind: "status", status: 502 },
    });
    world.unbind("reading");
    await expect(world.pass()).rejects.toMatchObject({ code: "Unavailable" });
    expect(world.exists("reading")).toBe(true);
    expect(world.ready("reading")).toBe("Unavailable");
    await world.settle();
    expect(world.exists("reading")).toBe(false);
    expect(world.bound()).toEqual([]);
  });

  test("Retain leaves the policies bound", async () => {
    const world = await accountWorld();
    world.bind("reading", ["pol-read"], { deletionPolicy: "Retain" });
    await world.settle();
    world.unbind("reading");
    await world.settle();
    expect(world.exists("reading")).toBe(false);
    expect(world.bound()).toEqual(["pol-read"]);
    expect(world.puts()).toHaveLength(1);
  });

  test("a binding of an account that revokes itself just goes", async () => {
    const world = await withReading();
    world.kube.remove(serviceAccountType, KEY);
    world.unbind("reading");
    const before = world.calls();
    await world.settle();
    expect(world.exists("reading")).toBe(false);
    expect(world.calls()).toBe(before);
  });

  test("without its account a deleted binding goes and says what it leaves", async () => {
    const world = await withReading();
    world.putAccount({}, { finalizers: [] });
    world.kube.remove(serviceAccountType, KEY);
    world.unbind("reading");
    await world.settle();
    expect(world.exists("reading")).toBe(false);
    expect(world.events.at(-1)).toMatchObject({ reason: "PoliciesNotRevoked" });
  });

  test("a binding of an account that is gone at the console goes", async () => {
    const world = await withReading();
    world.putAccount({}, {}, notReady("ServiceAccountGone"));
    world.unbind("reading");
    const before = world.calls();
    await world.settle();
    expect(world.exists("reading")).toBe(false);
    expect(world.calls()).toBe(before);
  });

  test("a refused revocation is tried again within minutes", async () => {
    const world = await withReading();
    world.console.faults.add({
      operation: "syncBindings",
      when: "beforeCommit",
      action: { kind: "status", status: 403 },
    });
    world.unbind("reading");
    expect(await world.pass()).toEqual({ requeueAfterMs: 5 * MINUTE });
    expect(world.ready("reading")).toBe("PermissionDenied");
    await world.settle();
    expect(world.exists("reading")).toBe(false);
  });

  test("a binding of an account that is retained still revokes", async () => {
    const world = await withReading({ account: { deletionPolicy: "Retain" } });
    world.kube.remove(serviceAccountType, KEY);
    world.putAccount({}, {}, notReady("InUse"));
    world.unbind("reading");
    await world.settle();
    expect(world.exists("reading")).toBe(false);
    expect(world.bound()).toEqual([]);
  });

  test("deletion ends although the console stays down, and says what is left", async () => {
    const world = await withReading();
    await world.console.faults.setReachability("unavailable");
    world.unbind("reading");
    await expect(world.pass()).rejects.toThrow();
    expect(world.exists("reading")).toBe(true);
    await world.clock.advance(10 * MINUTE);
    await expect(world.pass()).rejects.toThrow();
    expect(world.exists("reading")).toBe(false);
    expect(world.events.at(-1)).toMatchObject({ reason: "PoliciesNotRevoked" });
  });

  test("a process that comes late tries to revoke before it gives up", async () => {
    const world = await withReading();
    world.unbind("reading");
    await world.clock.advance(25 * HOUR);
    world.restart();
    await world.settle();
    expect(world.exists("reading")).toBe(false);
    expect(world.bound()).toEqual([]);
    expect(world.events.map(({ reason }) => reason)).not.toContain("PoliciesNotRevoked");
  });
});

describe("the console's answers", () => {
  test.each(["bindings", "policyIds", "policies", "strings"] as const)(
    "the shape %s of bound policies is understood",
    async (bindings) => {
      const world = await accountWorld({ shapes: { bindings } });
      world.bindAtConsole(["pol-member"]);
      world.bind("reading", ["pol-read"]);
      await world.settle();
      expect(world.bound()).toEqual(["pol-member", "pol-read"]);
    },
  );

  test("an unreadable imported account is not written", async () => {
    const world = await accountWorld({ shapes: { bindings: "unreadable" }, origin: "Imported" });
    world.bindAtConsole(["pol-member"]);
    world.bind("reading", ["pol-read"]);
    await world.settle();
    await world.pass();
    expect(world.puts()).toEqual([]);
    expect(world.ready("reading")).toBe("BindingsUnreadable");
    expect(world.record()).toBeUndefined();
    expect(world.console.requests.count("listBindings")).toBe(1);
  });

  test("an unreadable created account is written once", async () => {
    const world = await withReading({ shapes: { bindings: "unreadable" } });
    await world.clock.advance(11 * MINUTE);
    await world.settle();
    expect(world.puts()).toEqual([["pol-read"]]);
    expect(world.ready("reading")).toBe("Synced");
  });

  test("a failed read is no reason to write", async () => {
    const world = await accountWorld();
    world.bind("reading", ["pol-read"]);
    world.console.faults.add({
      operation: "listBindings",
      when: "beforeCommit",
      action: { kind: "status", status: 503 },
    });
    await expect(world.pass()).rejects.toMatchObject({ code: "Unavailable" });
    expect(world.puts()).toEqual([]);
    expect(world.ready("reading")).toBe("Unavailable");
  });
});

describe("refusing", () => {
  test("a policy outside the grant is refused before any call", async () => {
    const world = await accountWorld({ grant: ["pol-read"] });
    world.bind("deploying", ["pol-read", "pol-deploy"]);
    await world.settle();
    expect(world.calls()).toBe(0);
    expect(world.ready("deploying")).toBe("PolicyNotGranted");
    expect(world.message("deploying")).toMatch(/add pol-deploy to .* remove pol-deploy from/);
  });

  test.each([
    ["", {}],
    [", also of a suspended object", { suspend: true }],
  ])("a policy that is taken out of the grant is unbound%s", async (_, spec) => {
    const world = await accountWorld();
    world.bindAtConsole(["pol-member"]);
    world.bind("both", ["pol-deploy", "pol-read"]);
    world.bind("reading", ["pol-read"]);
    await world.settle();
    world.bind("both", ["pol-deploy", "pol-read"], spec);
    world.grant(["pol-read"]);
    await world.pass();
    expect(world.bound()).toEqual(["pol-member", "pol-read"]);
    expect(world.condition("both", "Ready")?.status).toBe("False");
    expect(world.status("both").appliedPolicyIds).toEqual(["pol-read"]);
    expect(world.ready("reading")).toBe("Synced");
    const calls = world.calls();
    await world.settle();
    expect(world.calls()).toBe(calls);
    world.grant(["*"]);
    world.bind("both", ["pol-deploy", "pol-read"], { suspend: false });
    await world.settle();
    expect(world.bound()).toEqual(["pol-deploy", "pol-member", "pol-read"]);
  });

  test("the last policy of an account may be withdrawn", async () => {
    const world = await withReading();
    world.grant([]);
    await world.pass();
    expect(world.bound()).toEqual([]);
    expect(world.stalled("reading")).toBe("PolicyNotGranted");
    expect(world.message("reading")).toContain("is unbound");
  });

  test("a connection that cannot be used withdraws nothing (S11)", async () => {
    const world = await withReading();
    world.grant([]);
    world.disconnect();
    await world.settle();
    expect(world.bound()).toEqual(["pol-read"]);
    expect(world.ready("reading")).toBe("NotGranted");
    expect(world.stalled("reading")).toBe("NotGranted");
  });

  test.each([
    ["an scp policy", "pol-scp-guardrail", /kind scp/],
    ["an unknown policy", "pol-nowhere", /pol-nowhere/],
  ])("%s stalls its own binding with the console's words, and no other", async (_, bad, words) => {
    const world = await accountWorld();
    world.bind("bad", [bad]);
    world.bind("good", ["pol-read"]);
    await world.settle();
    expect(world.bound()).toEqual(["pol-read"]);
    expect(world.ready("good")).toBe("Synced");
    expect(world.ready("bad")).toBe("PolicyRefused");
    expect(world.message("bad")).toMatch(words);
    expect(world.status("bad").appliedPolicyIds).toEqual([]);
    const puts = world.puts().length;
    await world.clock.advance(11 * MINUTE);
    await world.settle();
    expect(world.puts()).toHaveLength(puts);
  });

  test("where the listing names nobody, bindings are tried one by one", async () => {
    const world = await accountWorld();
    world.console.faults.add({
      operation: "listPolicies",
      when: "beforeCommit",
      action: { kind: "status", status: 403 },
      times: "always",
    });
    world.bind("a", ["pol-read"]);
    world.bind("b", ["pol-scp-guardrail"]);
    world.bind("c", ["pol-deploy"]);
    await world.settle();
    expect(world.bound()).toEqual(["pol-deploy", "pol-read"]);
    expect([world.ready("a"), world.ready("b"), world.ready("c")]).toEqual([
      "Synced",
      "PolicyRefused",
      "Synced",
    ]);
  });

  test("an invalid stored spec stalls its own object only", async () => {
    const world = await accountWorld();
    world.bind("broken", []);
    world.bind("good", ["pol-read"]);
    await world.settle();
    expect([world.ready("broken"), world.ready("good")]).toEqual(["InvalidSpec", "Synced"]);
  });
});

describe("waiting", () => {
  test("a binding waits for an account that does not exist", async () => {
    const world = await accountWorld();
    world.putAccount({}, { finalizers: [] });
    world.kube.remove(serviceAccountType, KEY);
    world.bind("reading", ["pol-read"]);
    await world.settle();
    expect(world.ready("reading")).toBe("WaitingForServiceAccount");
    expect(world.calls()).toBe(0);
    expect(world.accounts.list()).toEqual([toRef(KEY)]);
  });

  test("a binding waits for an account that is not ready", async () => {
    const world = await withReading({ ready: false });
    expect(world.ready("reading")).toBe("WaitingForServiceAccount");
    expect(world.calls()).toBe(0);
  });

  test("a suspended binding keeps what it bound and writes nothing new", async () => {
    const world = await withReading();
    world.bind("reading", ["pol-deploy"], { suspend: true });
    await world.settle();
    expect(world.bound()).toEqual(["pol-read"]);
    expect(world.ready("reading")).toBe("Suspended");
    expect(world.stalled("reading")).toBe("Suspended");
    expect(world.puts()).toHaveLength(1);
  });

  test("a suspended binding whose policies are bound stays ready, also while its account is not", async () => {
    const world = await withReading();
    world.bind("reading", ["pol-read"], { suspend: true });
    await world.settle();
    expect(world.condition("reading", "Ready")).toMatchObject({
      status: "True",
      reason: "Suspended",
    });
    world.putAccount({}, {}, notReady("ConnectionNotReady"));
    await world.settle();
    expect(world.condition("reading", "Ready")).toMatchObject({
      status: "True",
      reason: "Suspended",
    });
    expect(world.stalled("reading")).toBeUndefined();
  });

  test.each([
    ["a suspended account", { suspend: true }, "ServiceAccountSuspended"],
    ["an account without access", { access: "Revoked" }, "AccessRevoked"],
  ])("with %s it is for a person to go on", async (_, spec, reason) => {
    const world = await withReading();
    world.putAccount(spec);
    await world.settle();
    expect(world.stalled("reading")).toBe(reason);
    expect(world.condition("reading", "Reconciling")).toBeUndefined();
  });
});

describe("spec.access", () => {
  test.each<{ access: "Granted" | "Revoked"; restarts: boolean; bound: string[] }>([
    { access: "Revoked", restarts: false, bound: [] },
    { access: "Revoked", restarts: true, bound: [] },
    { access: "Granted", restarts: false, bound: ["pol-read"] },
  ])(
    "set to $access before the opposite is recorded has its way (after a restart: $restarts)",
    async ({ access, restarts, bound }) => {
      const world = await withReading({ account: { access } });
      world.putAccount({ access: access === "Revoked" ? "Granted" : "Revoked" });
      const puts = world.puts().length;
      world.kube.onWrite = (_, carryOut) => {
        if (world.puts().length > puts) throw new Error("not written");
        return carryOut();
      };
      await expect(world.pass()).rejects.toThrow();
      expect(world.bound()).not.toEqual(bound);
      world.kube.onWrite = (_, carryOut) => carryOut();
      if (restarts) world.restart();
      world.putAccount({ access });
      await world.settle();
      expect(world.bound()).toEqual(bound);
    },
  );

  test.each(["bindings", "unreadable"] as const)(
    "unbinds what was bound outside the operator since the last read (%s)",
    async (bindings) => {
      const world = await withReading({ shapes: { bindings } });
      world.unbind("reading");
      await world.settle();
      expect(world.record()).toMatchObject({ policyCount: 0 });
      world.bindAtConsole(["pol-member"]);
      world.putAccount({ access: "Revoked" });
      await world.settle();
      expect(world.bound()).toEqual([]);
      const calls = world.calls();
      await world.pass();
      expect(world.calls()).toBe(calls);
    },
  );

  test("does not count an earlier revocation as proof", async () => {
    const world = await accountWorld({ account: { access: "Revoked" } });
    await world.settle();
    expect(world.record()).toMatchObject({ confirmationTime: expect.any(String) });
    world.putAccount({ access: "Granted" });
    await world.settle();
    expect(world.record()).not.toHaveProperty("confirmationTime");
    world.bindAtConsole(["pol-member"]);
    world.putAccount({ access: "Revoked" });
    await world.settle();
    expect(world.bound()).toEqual([]);
  });

  test("works for an account without any binding", async () => {
    const world = await accountWorld({ account: { access: "Revoked" } });
    world.bindAtConsole(["pol-member"]);
    await world.settle();
    expect(world.bound()).toEqual([]);
  });
});

describe("drift", () => {
  test("is found within ten minutes, corrected, counted and told", async () => {
    const world = await withReading();
    world.bindAtConsole([]);
    await world.pass();
    expect(world.bound()).toEqual([]);
    await world.clock.advance(10 * MINUTE);
    await world.settle();
    expect(world.bound()).toEqual(["pol-read"]);
    expect(world.events.at(-1)).toMatchObject({ type: "Warning", reason: "DriftCorrected" });
    expect(await world.metrics.render()).toContain("iam_operator_drift_corrections_total 1");
  });

  test.each(["ServiceAccount", "PolicyBinding"])(
    "is found at once on request on the %s",
    async (kind) => {
      const world = await withReading();
      world.bindAtConsole([]);
      if (kind === "ServiceAccount") world.putAccount({}, request("now"));
      else world.bind("reading", ["pol-read"], {}, request("now"));
      await world.settle();
      expect(world.bound()).toEqual(["pol-read"]);
      if (kind === "PolicyBinding") {
        expect(world.status("reading").lastHandledReconcileAt).toBe("now");
      }
      const calls = world.calls();
      await world.pass();
      expect(world.calls()).toBe(calls);
    },
  );

  test("a new foreign policy is reported and kept", async () => {
    const world = await withReading();
    world.bindAtConsole(["pol-read", "pol-member"]);
    await world.clock.advance(10 * MINUTE);
    await world.settle();
    expect(world.bound()).toEqual(["pol-member", "pol-read"]);
    expect(world.record().foreignPolicyIds).toEqual(["pol-member"]);
    expect(world.events.at(-1)).toMatchObject({ reason: "ForeignPoliciesFound" });
    expect(world.puts()).toHaveLength(1);
  });

  test("a failed correction is tried again before the next check", async () => {
    const world = await withReading();
    world.bindAtConsole([]);
    await world.clock.advance(10 * MINUTE);
    world.console.faults.add({
      operation: "syncBindings",
      when: "beforeCommit",
      action: { kind: "status", status: 502 },
    });
    await expect(world.pass()).rejects.toThrow();
    await world.pass();
    expect(world.bound()).toEqual(["pol-read"]);
  });
});
