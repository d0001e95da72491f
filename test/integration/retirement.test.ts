/**
 * How old keys end: with calls for it that the connection names, in the recommended order (issue, switch,
 * disable, delete), and without them by their expiry. Both servers are real; only the time is moved.
 */
import { afterEach, describe, expect, test } from "vitest";
import { type Clock, DAY, HOUR, MINUTE, systemClock } from "../../src/util/time.ts";
import type { FaultRule } from "../iam-server/faults.ts";
import { type Call, type CrashPoint, MortalProcess } from "./support/crashing-transport.ts";
import { World, type WorldOptions } from "./support/world.ts";

const ROTATE = "iam-operator.io/rotate-requested-at";
/** More than retiring a key takes; the recording says how many there really are. */
const MAX_CALLS = 30;

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
const operations = () => world.iam.requests.all.map(({ operation }) => operation ?? "?");
/** Ends of keys that took effect. */
const ends = () =>
  world.iam.requests.all
    .filter(({ decided = 500 }) => decided < 300)
    .map(({ operation }) => operation)
    .filter((name) => name === "disableKey" || name === "deleteKey");
const posts = () => operations().filter((name) => name === "issueKey").length;

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

  test("the old key lives as long as the new one is not accepted, however long that takes", async () => {
    await opened({ extraCalls: true, timing: { verifyGiveUpMs: 600_000 } });
    const { keyId: old = "" } = await world.entries("key");
    const refusal = world.iam.faults.add({
      operation: "searchActions",
      when: "beforeCommit",
      action: { kind: "status", status: 401 },
      times: "always",
    });
    await world.annotate("ApiKey", "key", { [ROTATE]: "now" });
    await refusal.reached;
    advance(5 * DAY);
    await world.lookAgain("ApiKey", "key", "five days later");
    expect((await world.entries("key")).keyId).toBe(old);
    expect([isAlive(old), ends(), await listedAs(old)]).toEqual([true, [], undefined]);

    refusal.remove();
    await toBe(old, "Live");
    // The overlap counts from the switch, not from the issue.
    advance(23 * HOUR);
    await world.lookAgain("ApiKey", "key", "within the overlap");
    expect([isAlive(old), ends()]).toEqual([true, []]);
    advance(2 * HOUR);
    await toBe(old, "Deleted");
    expect(await world.holdsLivePair("key")).toBe(true);
  });

  test("a key in use that the console refuses keeps the one before it alive", async () => {
    await opened({ extraCalls: true }, { maxIssuesPerDay: 2, rotation: { overlap: "5m" } });
    const old = await rotate();
    const { current } = await statusOf();
    world.iam.world.deleteKey(current?.keyId ?? "");
    advance(MINUTE);
    await world.lookAgain("ServiceAccount", "ci", "the key is not listed any more");
    await world.condition("ApiKey", "key", "Verified", "False", "KeyRefused");
    await world.condition("ApiKey", "key", "IssuanceAllowed", "False", "BudgetExceeded");
    advance(HOUR);
    await world.lookAgain("ApiKey", "key", "long after the overlap");
    expect([isAlive(old), ends(), await listedAs(old)]).toEqual([true, [], "Live"]);
    // With another key in its place, the old one goes.
    advance(DAY);
    await toBe(old, "Deleted");
    expect(await world.holdsLivePair("key")).toBe(true);
  });

  const refusals: readonly (readonly [string, Partial<FaultRule>])[] = [
    ["403", { action: { kind: "status", status: 403 } }],
    ["404", { action: { kind: "status", status: 404 } }],
    ["409", { action: { kind: "status", status: 409 } }],
    ["422", { action: { kind: "status", status: 422 } }],
    ["429", { action: { kind: "status", status: 429, retryAfter: 1 } }],
    ["500", { action: { kind: "status", status: 500 } }],
    ["a reset connection", { action: { kind: "reset" } }],
    ["a lost answer", { action: { kind: "reset" }, when: "afterCommit" }],
  ];
  test.each(["disableKey", "deleteKey"] as const)(
    "whatever becomes of %s, nobody loses a key over it",
    { timeout: 200_000 },
    async (operation) => {
      await opened({ extraCalls: true });
      for (const [name, rule] of refusals) {
        const old = await rotate();
        const issued = posts();
        const fault = world.iam.faults.add({
          when: "beforeCommit",
          action: { kind: "reset" },
          ...rule,
          operation,
        });
        advance(25 * HOUR);
        await fault.reached;
        await toBe(old, "Deleted");
        await world.ready("ApiKey", "key");
        expect(await world.holdsLivePair("key"), name).toBe(true);
        expect(posts(), name).toBe(issued);
      }
    },
  );

  test("a console that always refuses is named in the status, and the key in use is looked after", async () => {
    await opened({ extraCalls: true });
    const old = await rotate();
    const fault = world.iam.faults.add({
      operation: "disableKey",
      when: "beforeCommit",
      action: { kind: "status", status: 403, message: "not yours" },
      times: "always",
    });
    advance(25 * HOUR);
    await fault.reached;
    await world.until("the reason to be told", async () =>
      (await world.message("ApiKey", "key")).includes("not yours"),
    );
    await world.ready("ApiKey", "key");
    expect(await listedAs(old)).toBe("Live");
    // An edit of the Secret is still undone.
    await world.kube.mergePatch(
      world.secretType,
      { namespace: world.namespace, name: "key" },
      { data: { stray: "eA==" } },
    );
    await world.until(
      "the Secret to be mended",
      async () => !("stray" in (await world.entries("key"))),
    );
    fault.remove();
    await toBe(old, "Deleted");
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

  test("a deletion that the console refuses ends, and names the keys that stay", async () => {
    await opened({ extraCalls: true, timing: { deletionPatienceMs: 1_500 } });
    const old = await rotate();
    const { keyId = "" } = await world.entries("key");
    world.iam.faults.add({
      operation: "disableKey",
      when: "beforeCommit",
      action: { kind: "status", status: 500 },
      times: "always",
    });
    await world.delete("ApiKey", "key");
    await world.isGone("ApiKey", "key", 60_000);
    await world.until("the event", async () =>
      (await world.events("key")).some(
        ({ reason, note }) =>
          reason === "KeysNotRevoked" && note.includes(old) && note.includes(keyId),
      ),
    );
  });

  const POINTS: readonly CrashPoint[] = ["beforeSend", "afterCommit", "afterAnswer"];
  const belongsToTheEnd = ({ to, path }: Call) =>
    (to === "iam" && !path.endsWith("/login")) || /\/(apikeys|secrets)\//.test(path);

  test("a crash at any call of the end: the old key goes, the new one works, none is issued", {
    timeout: 600_000,
  }, async () => {
    await opened({ extraCalls: true });
    /** Lets an overlap end before `process`, and another one after it. */
    const endWith = async (process: MortalProcess): Promise<void> => {
      const old = await rotate();
      await world.operator?.stop();
      const issued = posts();
      advance(25 * HOUR);
      const dying = await world.start(process);
      const through = world.until(
        "the end",
        async () => process.dead || (await listedAs(old)) === "Deleted",
      );
      await Promise.race([process.died, through]);
      if (process.dead) {
        await dying.kill();
        await world.start();
      }
      await toBe(old, "Deleted");
      expect(world.iam.world.keys.has(old)).toBe(false);
      expect(await world.holdsLivePair("key")).toBe(true);
      expect(posts()).toBe(issued);
    };
    const undisturbed = new MortalProcess(undefined, belongsToTheEnd);
    await endWith(undisturbed);
    const calls = undisturbed.calls.findLastIndex(({ path }) => path.endsWith("/status")) + 1;
    expect(calls).toBeGreaterThan(4);
    expect(calls).toBeLessThan(MAX_CALLS);
    for (const point of POINTS)
      for (let at = 0; at < calls; at += 1)
        await endWith(new MortalProcess({ at, point }, belongsToTheEnd));
    const { orphaned = [], superseded = [] } = await statusOf();
    expect(orphaned).toEqual([]);
    expect(superseded.every(({ state }) => state === "Deleted" || state === "Expired")).toBe(true);
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
