/** A console whose list of keys is always empty: what it proves, and from when on it proves nothing. */
import { expect, test } from "vitest";
import { KeyWorld } from "./world.ts";

const silent = () => {
  const world = new KeyWorld();
  world.console.listsNoKeys = true;
  return world;
};

/** The answer to the next issue is lost after the console has made the key. */
const loseNextIssue = (world: KeyWorld) => {
  let lost = false;
  world.fault = (_, name) => {
    if (lost || name !== "issueKey") return undefined;
    lost = true;
    return "lost after";
  };
};

const orphans = (world: KeyWorld, name?: string) =>
  (world.status(name).orphaned ?? []).map(({ keyId }: { keyId?: string }) => keyId ?? "unknown");

test("a lost key is assumed once the ApiKey has one that the list lacks", async () => {
  const world = silent();
  world.apiKey();
  await world.settle();
  loseNextIssue(world);
  world.rotate("again");
  await world.settle();
  expect(orphans(world)).toEqual(["unknown"]);
  expect(world.events.join()).toContain("lacks sak_1, which is in use, so the list proves nothing");
  expect(world.holdsLivePair()).toBe(true);
});

test("a lost key is assumed once another ApiKey of the account has one", async () => {
  const world = silent();
  world.apiKey("one");
  await world.settle(["one"]);
  loseNextIssue(world);
  world.apiKey("two");
  await world.settle(["one", "two"]);
  expect(orphans(world, "two")).toEqual(["unknown"]);
  expect(world.holdsLivePair("two")).toBe(true);
});

test("another ApiKey that is being deleted may have ended its key: it proves nothing", async () => {
  const world = silent();
  world.apiKey("one");
  await world.settle(["one"]);
  world.console.extra = { deleteKey: true };
  world.console.isDown = true;
  world.remove("one");
  await world.pass("one");
  world.console.isDown = false;
  loseNextIssue(world);
  world.apiKey("two");
  await world.settle(["two"]);
  expect(world.exists("one")).toBe(true);
  expect(orphans(world, "two")).toEqual([]);
});

test("the first key of an account stays in doubt", async () => {
  const world = silent();
  loseNextIssue(world);
  world.apiKey();
  await world.settle();
  expect(orphans(world)).toEqual([]);
  expect(world.unaccounted()).toEqual(["sak_1"]);
});

test("does not hold up a deletion, with an old key besides the one in use", async () => {
  const world = silent();
  world.console.extra = { deleteKey: true };
  world.apiKey();
  await world.settle();
  world.rotate("again");
  await world.settle();
  world.remove();
  expect(await world.pass()).not.toBeInstanceOf(Error);
  expect(world.exists()).toBe(false);
  expect(world.console.keys.map(({ state }) => state)).toEqual(["Deleted", "Deleted"]);
});
