/** The state machine as a whole: what is promised holds after every call, whatever happens to the process. */
import { describe, expect, test } from "vitest";
import { readinessConditions } from "../../../../src/api/conditions.ts";
import { reconciling } from "../../../../src/controllers/frame/rules/waiting.ts";
import { secretType } from "../../../../src/controllers/resource-types.ts";
import { DAY, HOUR, MINUTE } from "../../../../src/util/time.ts";
import { KeyWorld } from "./world.ts";

async function withKey(spec: object = {}): Promise<KeyWorld> {
  const world = new KeyWorld();
  world.apiKey("ci", spec);
  await world.settle();
  return world;
}

/** What became of the attempt of one key is not known yet; two of its account wait for that. */
async function withTwoWaiting(): Promise<KeyWorld> {
  const world = new KeyWorld();
  world.apiKey("ci");
  world.apiKey("other");
  world.apiKey("third");
  world.fault = (call) => (call === 2 ? "lost after" : undefined);
  await world.pass("ci");
  await world.pass("other");
  await world.pass("third");
  expect(world.woken).toEqual([]);
  return world;
}

const expectSound = (world: KeyWorld, name = "ci") => {
  expect(world.violations).toEqual([]);
  expect(world.unaccounted(name)).toEqual([]);
};

describe("a quiet life", () => {
  test("a new ApiKey gets one key, in this order, and then there is rest", async () => {
    const world = await withKey();
    expect(world.calls).toEqual([
      "patch apikeys",
      "issueKey",
      "create secrets",
      "create secrets",
      "status apikeys",
      "delete secrets",
    ]);
    expect(world.holdsLivePair()).toBe(true);
    expect(world.status().current).toMatchObject({
      issueTime: "2026-01-01T00:00:00Z",
      expirationTime: "2026-04-01T00:00:00Z",
      revision: 1,
    });
    expect(world.condition("Ready")).toMatchObject({ status: "True", reason: "KeyDelivered" });
    await world.clock.advance(HOUR);
    await world.settle();
    expect(world.writes).toBe(6);
    expectSound(world);
  });

  test("a key that is applied together with its account is not reported on before the account had its turn", async () => {
    const world = new KeyWorld();
    world.apiKey("ci");
    world.account({ conditions: [] });
    expect(await world.pass()).toBe(2 * MINUTE);
    const readiness = reconciling("Creating", "The account is being created at the console.");
    world.account({ conditions: readinessConditions([], readiness, 1, world.clock.now()) });
    await world.clock.advance(MINUTE);
    expect(await world.pass()).toBe(MINUTE);
    expect(world.calls).toEqual([]);
    await world.clock.advance(MINUTE);
    await world.pass();
    expect(world.condition("Ready")).toMatchObject({ reason: "ServiceAccountNotReady" });
    world.account();
    await world.settle();
    expect(world.holdsLivePair()).toBe(true);
    expectSound(world);
  });

  test("that a key's new account has failed is reported at once", async () => {
    const world = new KeyWorld();
    world.apiKey("ci");
    world.account({ state: "inactive" });
    await world.pass();
    expect(world.condition("Ready")).toMatchObject({ reason: "ServiceAccountNotReady" });
  });

  test("a year passes with one key a period, and no gap", async () => {
    const world = await withKey({ expiresInDays: 30 });
    for (let day = 0; day < 365; day += 1) {
      await world.clock.advance(DAY);
      await world.settle();
      expect(world.holdsLivePair()).toBe(true);
      expect(
        world.status().current.expirationTime > new Date(world.clock.now()).toISOString(),
      ).toBe(true);
    }
    expect(world.posts()).toBeGreaterThanOrEqual(18);
    expect(world.posts()).toBeLessThanOrEqual(21);
    expect(world.condition("IssuanceAllowed").status).toBe("True");
    expect(world.violations).toEqual([]);
  });

  test("a token rotates once, and the same token never again", async () => {
    const world = await withKey();
    world.rotate("now");
    await world.settle();
    await world.settle();
    expect(world.posts()).toBe(2);
    expect(world.status()).toMatchObject({
      lastHandledRotateAt: "now",
      current: { keyId: "sak_2", revision: 2 },
      superseded: [{ keyId: "sak_1", state: "Live" }],
    });
    expectSound(world);
  });

  test("the previous pair is shown for the whole overlap, and not longer", async () => {
    const world = await withKey({
      secret: {
        data: { keyId: "${keyId}", secret: "${secret}", old: "${previousKeyId}/${previousSecret}" },
      },
    });
    const first = `sak_1/${world.entry("secret")}`;
    expect(world.entry("old")).toBe("/");
    world.rotate("now");
    await world.settle();
    const switched = world.clock.now();
    expect(world.entry("old")).toBe(first);
    await world.clock.advance(DAY - 2 * MINUTE);
    await world.pass();
    expect(world.entry("old"), `${world.clock.now() - switched}`).toBe(first);
    await world.clock.advance(HOUR);
    await world.settle();
    expect(world.entry("old")).toBe("/");
    expect(world.posts()).toBe(2);
    expectSound(world);
  });

  test("a template with the previous id alone shows it for the overlap", async () => {
    const world = await withKey({
      secret: { data: { keyId: "${keyId}", secret: "${secret}", old: "${previousKeyId}" } },
    });
    world.rotate("now");
    await world.settle();
    await world.pass();
    expect(world.entry("old")).toBe("sak_1");
    await world.clock.advance(25 * HOUR);
    await world.settle();
    expect(world.entry("old")).toBe("");
  });
});

describe("Secrets in other hands", () => {
  test("a Secret that could not be written is found out before any call", async () => {
    const world = new KeyWorld();
    world.forbidsSecrets = true;
    world.apiKey();
    expect(await world.pass()).toBeInstanceOf(Error);
    expect(world.posts()).toBe(0);
    expect(world.condition("Ready")).toMatchObject({ status: "False", reason: "Forbidden" });
  });

  test("a Secret that becomes another's while a key is verified is not touched", async () => {
    const world = new KeyWorld();
    world.apiKey();
    world.console.accepts = () => false;
    await world.pass();
    world.putSecret({ a: "" });
    const before = world.secret();
    world.console.accepts = () => true;
    await world.settle();
    expect(world.secret()).toEqual(before);
    expect(world.condition("Stalled")).toMatchObject({ reason: "SecretConflict" });
    expect(world.status().pending).toMatchObject({ keyId: "sak_1" });
    world.deleteSecret();
    await world.settle();
    expect(world.status().pending).toBeUndefined();
    expect(world.holdsLivePair()).toBe(true);
    expect(world.posts()).toBe(1);
    expectSound(world);
  });

  test("a Secret that somebody makes again with another type waits for them, with the new pair kept", async () => {
    const world = await withKey({ secret: { type: "example.com/type" } });
    world.console.accepts = () => false;
    world.rotate("a");
    await world.pass();
    const { name, namespace, labels, annotations } = world.secret()?.metadata ?? {};
    const { data } = world.secret() ?? {};
    world.deleteSecret();
    world.kube.put(secretType, { metadata: { name, namespace, labels, annotations }, data });
    const before = world.secret();
    world.console.accepts = () => true;
    await world.settle();
    expect(before?.type).toBe("Opaque");
    expect(world.secret()).toEqual(before);
    expect(world.condition("Stalled")).toMatchObject({
      reason: "SecretConflict",
      message: expect.stringContaining("its type is Opaque, not example.com/type"),
    });
    world.deleteSecret();
    await world.settle();
    expect(world.secret()?.type).toBe("example.com/type");
    expect(world.entry("keyId")).toBe("sak_2");
    expect(world.holdsLivePair()).toBe(true);
    expect(world.posts()).toBe(2);
    expectSound(world);
  });

  test("a deleted Secret is issued anew, at most as often as a day allows", async () => {
    const world = await withKey({ maxIssuesPerDay: 2 });
    world.deleteSecret();
    await world.settle();
    expect(world.holdsLivePair()).toBe(true);
    world.deleteSecret();
    await world.settle();
    world.restart();
    await world.settle();
    expect(world.posts()).toBe(2);
    expect(world.condition("IssuanceAllowed")).toMatchObject({
      status: "False",
      reason: "BudgetExceeded",
    });
    await world.clock.advance(DAY);
    await world.settle();
    expect(world.posts()).toBe(3);
    expect(world.condition("IssuanceAllowed")).toMatchObject({ status: "True" });
    expectSound(world);
  });

  test.each([
    ["expiration-time", "2999-01-01T00:00:00Z"],
    ["issue-time", "1999-01-01T00:00:00Z"],
    ["revision", "77"],
  ])("an edited annotation %s is put right without a new key", async (name, value) => {
    const world = await withKey({
      secret: { data: { secret: "${secret}", keyId: "${keyId}", till: "${expirationTime}" } },
    });
    const before = { ...world.secret()?.metadata.annotations };
    const till = world.entry("till");
    world.edit("secrets", "ci", ({ metadata }) => {
      metadata.annotations[`iam-operator.io/${name}`] = value;
    });
    await world.settle();
    expect(world.secret()?.metadata.annotations).toEqual(before);
    expect(world.entry("till")).toBe(till);
    expect(world.posts()).toBe(1);
  });

  test("a status that was lost is read back without a call", async () => {
    const world = await withKey();
    world.rotate("x");
    await world.settle();
    world.edit("apikeys", "ci", (object) => delete object.status);
    world.restart();
    await world.settle();
    expect(world.posts()).toBe(2);
    expect(world.status().current).toMatchObject({ keyId: "sak_2", revision: 2 });
    expect(world.condition("Ready").status).toBe("True");
  });
});

describe("troubles", () => {
  test("a refused issue is reported with the console's words and costs no budget", async () => {
    const world = new KeyWorld();
    world.apiKey();
    world.fault = (_, name) => (name === "issueKey" ? "refused" : undefined);
    expect(await world.pass()).toBeInstanceOf(Error);
    expect(world.status()).toMatchObject({ issuances: { count: 0 } });
    expect(world.status().attempt).toBeUndefined();
    expect(world.condition("Stalled")).toMatchObject({ reason: "InvalidArgument" });
  });

  test("a Secret that cannot be written is looked at again: nobody tells when it is gone", async () => {
    const world = await withKey();
    world.edit("secrets", "ci", (secret) => {
      secret.immutable = true;
    });
    world.rotate("x");
    expect(await world.pass()).toBe(5 * MINUTE);
    expect(world.condition("Ready")).toMatchObject({ status: "True", reason: "Invalid" });
    world.deleteSecret();
    await world.settle();
    expect(world.holdsLivePair()).toBe(true);
    expect(world.posts()).toBe(2);
  });

  test("a refused issue gives back no more than itself, and the request for it stays open", async () => {
    const world = await withKey();
    world.rotate("x");
    world.fault = (_, name) => (name === "issueKey" ? "refused" : undefined);
    await world.pass();
    expect(world.status()).toMatchObject({ issuances: { count: 1 }, rotationPending: true });
    world.fault = () => undefined;
    await world.settle();
    expect(world.status()).toMatchObject({ issuances: { count: 2 }, current: { keyId: "sak_2" } });
    expect(world.status().rotationPending).toBeUndefined();
  });

  test("a new key that is never accepted is given up after an hour, and the old one stays", async () => {
    const world = await withKey();
    world.console.accepts = ({ keyId }) => keyId === "sak_1";
    world.rotate("x");
    for (let minute = 0; minute < 58; minute += 1) {
      await world.pass();
      await world.clock.advance(MINUTE);
    }
    expect(world.entry("keyId")).toBe("sak_1");
    expect(world.condition("Verified")).toMatchObject({
      status: "False",
      reason: "VerificationFailed",
    });
    world.console.accepts = ({ keyId }) => keyId !== "sak_2";
    for (let minute = 0; minute < 6; minute += 1) {
      await world.pass();
      await world.clock.advance(MINUTE);
    }
    await world.settle();
    expect(world.status().orphaned).toMatchObject([{ keyId: "sak_2" }]);
    expect(world.entry("keyId")).toBe("sak_3");
    expectSound(world);
  });

  test("a staged pair without an attempt that is never accepted is given up as well", async () => {
    const world = new KeyWorld();
    world.apiKey();
    world.console.accepts = () => false;
    await world.pass();
    world.edit("apikeys", "ci", ({ status }) => delete status.attempt);
    for (let minute = 0; minute < 70; minute += 1) {
      await world.pass();
      await world.clock.advance(MINUTE);
    }
    expect(world.status().orphaned[0]).toMatchObject({
      keyId: "sak_1",
      attemptId: expect.stringMatching(/-attempt1$/),
    });
    expect(world.violations).toEqual([]);
  });

  test("a lost answer costs one key, which is listed, and never a second try of the same attempt", async () => {
    const world = new KeyWorld();
    world.apiKey();
    world.fault = (call) => (call === 2 ? "lost after" : undefined);
    const first = await world.pass();
    expect(first).toBeInstanceOf(Error);
    await world.clock.advance(14_000);
    await world.pass();
    expect(world.posts()).toBe(1);
    await world.settle();
    expect(world.status().orphaned).toMatchObject([
      { keyId: "sak_1", attemptId: expect.stringMatching(/-attempt1$/) },
    ]);
    expect(world.posts()).toBe(2);
    expect(world.events.some((event) => event.startsWith("KeyOrphaned"))).toBe(true);
    expectSound(world);
  });

  test("an ApiKey that somebody changes after the last check gets no key", async () => {
    const world = await withKey();
    world.rotate("now");
    world.console.listing = () => world.rotate("later");
    expect(await world.pass()).toMatchObject({ code: "Conflict" });
    expect([world.status().attempt, world.posts()]).toEqual([undefined, 1]);
  });

  test("an intent that could not be written holds up nobody else", async () => {
    const world = new KeyWorld();
    world.apiKey("ci");
    world.apiKey("other");
    world.fault = (call) => (call === 1 ? "refused" : undefined);
    expect(await world.pass("ci")).toBeInstanceOf(Error);
    await world.settle(["other"]);
    expect(world.holdsLivePair("other")).toBe(true);
  });

  test("keys that two interrupted issues have lost are listed once, though both are explained at the same time", async () => {
    const world = new KeyWorld();
    const both = ["ci", "other"];
    for (const name of both) world.apiKey(name);
    let issues = 0;
    world.fault = (_, call) => {
      if (call === "issueKey") issues += 1;
      return call === "issueKey" && issues <= 2 ? "lost after" : undefined;
    };
    const together = () => Promise.all(both.map((name) => world.pass(name)));
    await together();
    for (let turn = 0; turn < 60; turn += 1) {
      await world.clock.advance(1_000);
      await together();
    }
    const listed = both
      .flatMap((name) => world.status(name).orphaned ?? [])
      .map(({ keyId }) => keyId);
    expect(new Set(listed).size).toBe(2);
    expect(listed).toHaveLength(2);
  });

  test("one that waits for an explanation is woken when there is one", async () => {
    const world = new KeyWorld();
    world.apiKey("ci");
    world.apiKey("other");
    world.fault = (call) => (call === 2 ? "lost after" : undefined);
    await world.pass("ci");
    expect(await world.pass("other")).toBeGreaterThan(MINUTE);
    const before = [...world.woken];
    await world.settle(["ci"]);
    await world.pass("ci");
    expect([before, world.woken]).toEqual([[], ["team-a/other"]]);
  });

  test("one that waited, was deleted and made again for another account is not called any more", async () => {
    const world = await withTwoWaiting();
    world.remove("other");
    await world.settle(["other"]);
    expect(world.exists("other")).toBe(false);
    world.apiKey("other", { serviceAccountRef: { name: "bot-2" } });
    await world.settle(["ci"]);
    await world.pass("ci");
    expect(world.woken).toEqual(["team-a/third"]);
  });

  test("a key that its Secret still holds is taken from there, though the status went back", async () => {
    const world = new KeyWorld();
    world.apiKey();
    const restore = world.backUp({ secrets: false });
    await world.settle();
    await world.pass();
    restore();
    await world.settle();
    expect([world.posts(), world.holdsLivePair(), world.unaccounted()]).toEqual([1, true, []]);
    expect(world.status().orphaned ?? []).toEqual([]);
  });

  test("suspend: nothing is written, but the warning before the end comes", async () => {
    const world = await withKey();
    world.edit("apikeys", "ci", ({ spec }) => {
      spec.suspend = true;
    });
    await world.pass();
    const before = world.calls.filter((name) => name !== "status apikeys").length;
    await world.clock.advance(85 * DAY);
    await world.pass();
    expect(world.calls.filter((name) => name !== "status apikeys")).toHaveLength(before);
    expect(world.condition("Ready")).toMatchObject({ status: "True", reason: "ExpiringSoon" });
  });

  test("a pair that could not be written is written at the shutdown, whatever else fails", async () => {
    const world = new KeyWorld();
    world.apiKey("ci");
    world.apiKey("zz", { serviceAccountRef: { name: "bot2" } });
    world.fault = (_, name) => (name === "create secrets" ? "lost before" : undefined);
    await world.pass("ci");
    await world.pass("zz");
    expect(world.controller.unsavedPairs).toBe(2);
    let created = 0;
    world.fault = (_, name) => {
      if (name !== "create secrets") return undefined;
      created += 1;
      return created === 1 ? "refused" : undefined;
    };
    await expect(world.controller.saveHeldPairs(new AbortController().signal)).rejects.toThrow();
    expect(world.controller.unsavedPairs).toBe(1);
    await world.controller.saveHeldPairs(new AbortController().signal).catch(() => undefined);
    expect(world.controller.unsavedPairs).toBe(0);
    await world.settle(["ci", "zz"]);
    expect(world.posts()).toBe(2);
  });

  test("a pair outlives an object that only seems gone", async () => {
    const world = new KeyWorld();
    world.apiKey();
    world.fault = (_, name) => (name === "create secrets" ? "lost before" : undefined);
    await world.pass();
    world.controller.onGone({ namespace: "team-a", name: "ci" });
    expect(world.controller.unsavedPairs).toBe(1);
    world.fault = () => undefined;
    await world.settle();
    expect([world.posts(), world.holdsLivePair()]).toEqual([1, true]);
    expect(world.controller.unsavedPairs).toBe(0);
  });

  test("a key that is found by its intent after the status was wiped is tried before it counts as verified", async () => {
    const world = await withKey();
    world.console.accepts = () => false;
    world.edit("apikeys", "ci", (object) => delete object.status);
    await world.pass();
    expect(world.status().current).toMatchObject({ keyId: "sak_1", revision: 1 });
    expect(world.status().current.verificationTime).toBeUndefined();
    expect(world.condition("Ready").status).toBe("False");
    world.console.accepts = () => true;
    await world.settle();
    expect(world.condition("Ready").status).toBe("True");
    expect([world.posts(), world.status().issuances.count]).toEqual([1, 1]);
    expectSound(world);
  });

  test("a staged pair whose write was left unanswered is not held any longer", async () => {
    const world = new KeyWorld();
    world.apiKey();
    world.console.accepts = () => false;
    world.fault = (call) => (call === 3 ? "lost after" : undefined);
    await world.pass();
    expect(world.controller.unsavedPairs).toBe(1);
    await world.pass();
    expect(world.controller.unsavedPairs).toBe(0);
  });
});

describe("the end", () => {
  test("the last event names the keys that stay alive", async () => {
    const world = await withKey();
    world.remove();
    await world.settle();
    expect(world.exists()).toBe(false);
    expect(world.secret()).toBeUndefined();
    expect(world.events.at(-1)).toContain(
      "KeysNotRevoked: Keys that stay valid until they expire: sak_1.",
    );
  });

  test("an attempt that the console never explained is put down as a key that may be alive", async () => {
    const world = new KeyWorld();
    world.apiKey();
    world.fault = (call) => (call === 2 ? "lost after" : undefined);
    await world.pass();
    world.console.isDown = true;
    world.remove();
    for (let minute = 0; minute < 12 && world.exists(); minute += 1) {
      await world.pass();
      await world.clock.advance(MINUTE);
    }
    expect(world.exists()).toBe(false);
    expect(world.events.at(-1)).toContain("a key of unknown id");
  });
});
