/** When an old key may end, and what the end of one that does not go well leaves alone. */
import { describe, expect, test } from "vitest";
import { next } from "../../../../src/controllers/api-key/rules/next.ts";
import type {
  ApiKeyDone,
  ApiKeySnapshot,
} from "../../../../src/controllers/api-key/rules/snapshot.ts";
import type { IamErrorCode } from "../../../../src/iam/errors.ts";
import { DAY, HOUR, MINUTE } from "../../../../src/util/time.ts";
import {
  account,
  at,
  current,
  delivered,
  having,
  holding,
  NOW,
  pair,
  superseded,
  timing,
} from "./builders.ts";
import { type Fault, type KeyWorld, rotatedSince } from "./world.ts";

const ending = { ...account, canDisableKeys: true, canDeleteKeys: true };
/** Key 2 in use, the overlap with key 1 long over. */
const rotated = (changes: Parameters<typeof delivered>[0] = {}): ApiKeySnapshot =>
  delivered({
    account: ending,
    target: holding(pair(2)),
    ...changes,
    status: {
      current: current(2),
      superseded: [superseded(1, { supersededTime: NOW - 2 * DAY })],
      ...changes.status,
    },
  });
/** So that nothing is issued in place of what is missing. */
const spent = { windowStartTime: NOW, count: 99 };
const nextOf = (world: ApiKeySnapshot, done: ApiKeyDone = {}) =>
  next(having(done, world), at(), timing);
/** As after a check in the same run. */
const accepted: ApiKeyDone = { verdicts: new Map([["sak_2", true]]) };

describe("an old key", () => {
  test("ends after the overlap: disabled, then deleted", () => {
    expect(nextOf(rotated(), accepted)).toEqual({ kind: "DisableKey", keyId: "sak_1" });
    const disabled = superseded(1, { supersededTime: NOW - 2 * DAY, state: "Disabled" });
    const deleting = { kind: "DeleteKey", keyId: "sak_1" };
    const status = { current: current(2), superseded: [disabled] };
    expect(nextOf(rotated({ status }), accepted)).toEqual(deleting);
    const only = { ...ending, canDisableKeys: false };
    expect(nextOf(rotated({ account: only }), accepted)).toEqual(deleting);
  });

  test("is not ended before the console has accepted the key in use once more", () => {
    expect(nextOf(rotated())).toEqual({ kind: "VerifyPair", pair: pair(2) });
    const rejection = { keyId: "sak_2", since: at().monotonic };
    const rejected = { verdicts: new Map([["sak_2", false]]) };
    expect(nextOf(rotated({ rejection, lastCheckTime: NOW }), rejected)).toMatchObject({
      kind: "Waiting",
      reason: "KeyRefused",
    });
  });

  test.each<[string, ApiKeySnapshot]>([
    [
      "the overlap lasts",
      rotated({ status: { superseded: [superseded(1, { supersededTime: NOW - HOUR })] } }),
    ],
    [
      "the new key was never accepted",
      rotated({ status: { current: current(2, { verificationTime: undefined }) } }),
    ],
    [
      "the console refuses the new key",
      rotated({ rejection: { keyId: "sak_2", since: at().monotonic }, lastCheckTime: NOW }),
    ],
    [
      "the Secret holds the old one",
      rotated({ target: holding(pair(1)), status: { issuances: spent } }),
    ],
    ["the Secret is gone", rotated({ target: { kind: "Absent" }, status: { issuances: spent } })],
    ["the connection names no calls for it", rotated({ account })],
    [
      "it has expired",
      rotated({
        status: {
          superseded: [superseded(1, { supersededTime: NOW - 60 * DAY, expirationTime: NOW })],
        },
      }),
    ],
  ])("does not end while %s", (_, world) => {
    expect(nextOf(world).kind).not.toMatch(/DisableKey|DeleteKey/);
  });
});

const afterOverlap = () => rotatedSince(25 * HOUR);

const refusing = (world: KeyWorld, name: string, code: IamErrorCode) => {
  world.console.extraRefusal = code;
  world.fault = (_, call) => (call === name ? "refused" : undefined);
};
const ends = (world: KeyWorld) => world.calls.filter((name) => /^(disable|delete)Key$/.test(name));

describe("a console that refuses", () => {
  test.each<IamErrorCode>(["AlreadyExists", "InvalidArgument", "FailedPrecondition"])(
    "to disable a key with %s may still delete it",
    async (code) => {
      const world = await afterOverlap();
      refusing(world, "disableKey", code);
      await world.settle();
      expect(ends(world)).toEqual(["deleteKey"]);
      expect(world.status().superseded[0].state).toBe("Deleted");
    },
  );

  test("to disable a key where nothing can delete it leaves it listed as live", async () => {
    const world = await afterOverlap();
    world.console.extra = { disableKey: true };
    refusing(world, "disableKey", "AlreadyExists");
    await world.pass();
    await world.pass();
    expect(world.status().superseded[0].state).toBe("Live");
  });

  test.each(["disableKey", "deleteKey"])(
    "%s since the key is gone has no more to do",
    async (name) => {
      const world = await afterOverlap();
      world.console.extra = { [name]: true };
      for (const key of world.console.keys) if (key.keyId === "sak_1") key.state = "Deleted";
      refusing(world, name, "NotFound");
      await world.settle();
      expect(world.status().superseded[0].state).toBe("Deleted");
      expect(world.condition("Ready")).toMatchObject({ status: "True", reason: "KeyDelivered" });
    },
  );

  test.each(["disableKey", "deleteKey"])(
    "%s with a 404 for a key that it lists is not believed",
    async (name) => {
      const world = await afterOverlap();
      world.console.extra = { [name]: true };
      refusing(world, name, "NotFound");
      await world.pass();
      await world.pass();
      expect(world.status().superseded[0].state).toBe("Live");
      expect(world.condition("Ready")).toMatchObject({ status: "True", reason: "NotFound" });
      world.fault = () => undefined;
      await world.settle();
      expect(ends(world)).toEqual([name]);
      expect(world.status().superseded[0].state).not.toBe("Live");
    },
  );

  test("to disable a key with a 404 may still delete it", async () => {
    const world = await afterOverlap();
    refusing(world, "disableKey", "NotFound");
    await world.settle();
    expect(ends(world)).toEqual(["deleteKey"]);
    expect(world.status().superseded[0].state).toBe("Deleted");
  });

  test("for good is told, tried again, and does not stop the care for the key in use", async () => {
    const world = await afterOverlap();
    refusing(world, "disableKey", "PermissionDenied");
    const wait = await world.pass();
    expect(wait).toBeLessThanOrEqual(5 * MINUTE);
    expect(world.condition("Ready")).toMatchObject({ status: "True", reason: "PermissionDenied" });
    expect(world.status().superseded[0].state).toBe("Live");
    world.deleteSecret();
    await world.pass();
    expect(world.holdsLivePair()).toBe(true);
    world.fault = () => undefined;
    await world.settle();
    expect(world.status().superseded[0].state).toBe("Deleted");
  });
});

describe("a key that the console will not end", () => {
  const refusingTheFirst = (world: KeyWorld) => {
    world.console.extraRefusal = "PermissionDenied";
    let calls = 0;
    world.fault = (_, name) => {
      if (name === "disableKey") calls += 1;
      return name === "disableKey" && calls === 1 ? "refused" : undefined;
    };
  };

  test("does not keep another one alive", async () => {
    const world = await afterOverlap();
    world.console.extra = {};
    world.rotate("again");
    await world.settle();
    await world.clock.advance(25 * HOUR);
    world.console.extra = { disableKey: true, deleteKey: true };
    refusingTheFirst(world);
    await world.pass();
    const states = () => world.status().superseded.map(({ state }: { state: string }) => state);
    expect(states()).toEqual(["Live", "Deleted"]);
    expect(world.condition("Ready").reason).toBe("PermissionDenied");
    await world.pass();
    expect(states()).toEqual(["Deleted", "Deleted"]);
  });

  test("holds up a deletion, and not the end of the others", async () => {
    const world = await afterOverlap();
    refusingTheFirst(world);
    world.remove();
    await world.pass();
    expect(world.console.keys.map(({ state }) => state).toSorted()).toEqual(["Deleted", "Live"]);
    expect(world.exists()).toBe(true);
    await world.settle();
    expect(world.console.keys.map(({ state }) => state)).toEqual(["Deleted", "Deleted"]);
    expect(world.exists()).toBe(false);
  });
});

test.each<Fault>(["refused", "crash before"])(
  "a deletion that ends its keys and then fails (%s) goes on where it was",
  async (fault) => {
    const world = await afterOverlap();
    world.remove();
    world.fault = (_, name) => (name === "patch apikeys" ? fault : undefined);
    expect(await world.pass()).toBeInstanceOf(Error);
    expect(world.console.keys.map(({ state }) => state)).toEqual(["Deleted", "Deleted"]);
    world.fault = () => undefined;
    expect(await world.pass()).not.toBeInstanceOf(Error);
    expect(world.exists()).toBe(false);
  },
);

test("a Secret that was replaced since it was looked at is not deleted", async () => {
  const world = await afterOverlap();
  await world.settle();
  world.remove();
  world.fault = (_, name) => {
    if (name === "delete secrets" && world.entry("secret") !== "another's")
      world.putSecret({ secret: Buffer.from("another's").toString("base64") });
    return undefined;
  };
  await world.settle().catch(() => undefined);
  expect(world.entry("secret")).toBe("another's");
});
