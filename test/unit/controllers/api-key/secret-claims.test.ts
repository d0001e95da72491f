/** Several ApiKeys that name one Secret: one gets a key, the others are told before a key is issued for them. */
import { describe, expect, test } from "vitest";
import { KeyWorld } from "./world.ts";

const shared = { secret: { name: "shared" } };

describe("of two ApiKeys with one Secret", () => {
  test.each([
    ["both name it", "one", shared, "two", shared],
    ["one has its name", "shared", {}, "two", shared],
    [
      "one's Secret is where the other keeps new keys",
      "key",
      {},
      "two",
      { secret: { name: "key-next" } },
    ],
    ["the other way round", "key-next", {}, "two", { secret: { name: "key" } }],
  ])(
    "where %s, the first one gets a key, and none is issued for the second",
    async (_, first, spec, second, other) => {
      const world = new KeyWorld();
      world.apiKey(first, spec);
      await world.clock.advance(2_000);
      world.apiKey(second, other);
      // Whichever comes to be reconciled first.
      await world.pass(second);
      await world.settle([first, second]);
      expect(world.posts()).toBe(1);
      expect(world.condition("Ready", first)).toMatchObject({ status: "True" });
      expect(world.condition("Stalled", second)).toMatchObject({ reason: "SecretConflict" });
      expect(world.condition("Stalled", second).message).toContain(`belongs to ApiKey ${first}`);
      expect(world.status(second).attempt).toBeUndefined();
    },
  );

  test("the one with a key keeps the Secret, though the other is older", async () => {
    const world = new KeyWorld();
    world.apiKey("old", { ...shared, suspend: true });
    await world.clock.advance(2_000);
    world.apiKey("young", { secret: { name: "other" } });
    await world.settle(["young"]);
    world.apiKey("other", {});
    await world.settle(["young", "other"]);
    expect(world.posts()).toBe(1);
    expect(world.condition("Stalled", "other").message).toContain("belongs to ApiKey young");
  });

  test("the second one gets a key when the first one is gone", async () => {
    const world = new KeyWorld();
    world.apiKey("one", shared);
    await world.clock.advance(2_000);
    world.apiKey("two", shared);
    await world.settle(["one", "two"]);
    world.remove("one");
    await world.settle(["one", "two"]);
    expect(world.exists("one")).toBe(false);
    expect(world.condition("Ready", "two")).toMatchObject({ status: "True" });
    expect(world.posts()).toBe(2);
  });

  test("different Secrets are no conflict", async () => {
    const world = new KeyWorld();
    world.apiKey("one", { secret: { name: "a" } });
    world.apiKey("a-next-thing", {});
    await world.settle(["one", "a-next-thing"]);
    expect(world.posts()).toBe(2);
  });
});

describe("the advice about another's Secret", () => {
  test("never is to delete the other ApiKey", async () => {
    const world = new KeyWorld();
    world.apiKey("one", { secret: { name: "same" } });
    await world.settle(["one"]);
    world.apiKey("two", { secret: { name: "same" } });
    await world.settle(["two"]);
    expect(world.condition("Stalled", "two").message).toContain(
      "Delete this ApiKey, or create it again with another spec.secret.name.",
    );
  });

  test("never is to delete what may hold another ApiKey's key", async () => {
    const world = new KeyWorld();
    world.apiKey("one", {});
    await world.settle(["one"]);
    const { data = {}, metadata } = world.secret("one") ?? {};
    world.putSecret(data as Record<string, string>, "two");
    world.edit("secrets", "two", (secret) => {
      secret.metadata.labels = metadata?.labels;
    });
    world.apiKey("two", {});
    await world.settle(["two"]);
    const { message } = world.condition("Stalled", "two");
    expect(message).toContain("can hold the key of ApiKey one: do not delete it");
    expect(message).toContain("Create this ApiKey again with another spec.secret.name");
  });

  test("is a command where it may be overwritten", async () => {
    const world = new KeyWorld();
    world.putSecret({ a: "" });
    world.apiKey();
    await world.settle();
    const { message } = world.condition("Stalled");
    expect(message).toContain("kubectl label secret -n team-a ci iam-operator.io/api-key=ci");
    expect(message).not.toMatch(/[Dd]elete it/);
  });
});
