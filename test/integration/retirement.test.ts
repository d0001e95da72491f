/**
 * How old keys end: with calls for it that the connection names, in the recommended order (issue, switch,
 * disable, delete), and without them by their expiry. Both servers are real; only the time is moved.
 */
import { afterEach, describe, expect, test } from "vitest";
import { type Clock, DAY, HOUR, systemClock } from "../../src/util/time.ts";
import { World, type WorldOptions } from "./support/world.ts";

const ROTATE = "iam-operator.io/rotate-requested-at";

let world: World;
let moved = 0;
let tokens = 0;
afterEach(() => world.close());

async function opened(options: WorldOptions = {}, spec: object = {}): Promise<void> {
  moved = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + moved };
  world = await World.open({ clock, ...options });
  await world.serviceAccount("ci");
  await world.apiKey("key", {
    secret: { data: { keyId: "${keyId}", secret: "${secret}", old: "${previousSecret}" } },
    ...spec,
  });
  await world.ready("ApiKey", "key");
}

/** Moves the time of the operator and of the console. */
function advance(ms: number): void {
  moved += ms;
  world.iam.world.clock.advance(ms);
}

const statusOf = async () => (await world.get("ApiKey", "key")).status ?? {};

/** Waits until a new key is in use; answers the id of the old one. */
async function rotate(): Promise<string> {
  const { keyId = "" } = await world.entries("key");
  tokens += 1;
  await world.annotate("ApiKey", "key", { [ROTATE]: `${tokens}` });
  await world.until("another key to be in use", async () => {
    const { current, superseded = [] } = await statusOf();
    return current?.keyId !== keyId && superseded.some((key) => key.keyId === keyId);
  });
  await world.until("staging to go", async () => (await world.secret("key-next")) === undefined);
  return keyId;
}

const listedAs = async (keyId: string) =>
  (await statusOf()).superseded?.find((key) => key.keyId === keyId)?.state;

const toBe = (keyId: string, state: string | undefined) =>
  world.until(`${keyId} to be ${state}`, async () => (await listedAs(keyId)) === state);

const isAlive = (keyId: string) => world.iam.world.whyKeyIsRefused(keyId) === undefined;
/** Ends of keys that took effect. */
const ends = () =>
  world.iam.requests.all
    .filter(({ decided = 500 }) => decided < 300)
    .map(({ operation }) => operation)
    .filter((name) => name === "disableKey" || name === "deleteKey");

describe("with calls to disable and delete keys", () => {
  test("a key is issued, switched to, and after the overlap the old one is disabled and deleted", async () => {
    await opened({ extraCalls: true });
    const old = await rotate();
    const shown = (await world.entries("key")).old;
    expect(world.iam.world.isPair(old, shown ?? "")).toBe(true);

    advance(23 * HOUR);
    await world.lookAgain("ApiKey", "key", "within the overlap");
    expect([isAlive(old), ends(), await listedAs(old)]).toEqual([true, [], "Live"]);

    const disabling = world.iam.faults.add({
      operation: "disableKey",
      when: "beforeCommit",
      action: { kind: "hold" },
    });
    advance(2 * HOUR);
    await disabling.reached;
    // Before the old key goes, nobody reads it any more and the new one works.
    expect((await world.entries("key")).old).toBe("");
    expect(await world.holdsLivePair("key")).toBe(true);
    disabling.release();
    await toBe(old, "Deleted");
    expect(ends()).toEqual(["disableKey", "deleteKey"]);
    expect(world.iam.world.keys.has(old)).toBe(false);
    expect(await world.holdsLivePair("key")).toBe(true);
    await world.lookAgain("ApiKey", "key", "after the end");
    expect(ends()).toHaveLength(2);
    expect((await world.events("key")).map(({ reason }) => reason)).toEqual(
      expect.arrayContaining(["KeyRotated", "KeyDisabled", "KeyDeleted"]),
    );
  });

  test("an ApiKey that is deleted takes its superseded keys with it", async () => {
    await opened({ extraCalls: true });
    const old = [await rotate(), await rotate()];
    const { keyId = "" } = await world.entries("key");
    await world.delete("ApiKey", "key");
    await world.isGone("ApiKey", "key");
    for (const each of [...old, keyId]) expect(world.iam.world.keys.has(each)).toBe(false);
    expect(ends().toSorted()).toEqual([
      ...Array(3).fill("deleteKey"),
      ...Array(3).fill("disableKey"),
    ]);
    // What the account's list said before is not passed off as the truth now.
    await world.delete("ServiceAccount", "ci");
    await world.isGone("ServiceAccount", "ci");
    expect((await world.events("ci")).map(({ note }) => note).join()).not.toContain("alive");
  });
});

describe("without them", () => {
  test("a superseded key is listed as live until it expires, and for a day after that", async () => {
    await opened();
    advance(30 * DAY);
    const old = await rotate();
    const { expirationTime = "" } =
      (await statusOf()).superseded?.find((key) => key.keyId === old) ?? {};
    advance(25 * HOUR);
    await world.lookAgain("ApiKey", "key", "after the overlap");
    expect([await listedAs(old), isAlive(old)]).toEqual(["Live", true]);
    expect(await world.operator?.metrics()).toMatch(
      /iam_operator_superseded_live_keys\{[^}]*\} 1\n/,
    );

    advance(Date.parse(expirationTime) - systemClock.now() - moved - HOUR);
    await world.lookAgain("ApiKey", "key", "before the expiry");
    expect([await listedAs(old), isAlive(old)]).toEqual(["Live", true]);

    advance(2 * HOUR);
    await toBe(old, "Expired");
    expect(isAlive(old)).toBe(false);
    advance(25 * HOUR);
    await toBe(old, undefined);
    expect(await world.holdsLivePair("key")).toBe(true);
    expect(ends()).toEqual([]);
    expect(world.iam.requests.unknownCalls).toEqual([]);
  });
});
