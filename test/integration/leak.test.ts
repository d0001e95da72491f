import { expect, test } from "vitest";
import { World } from "./support/world.ts";

/** Every world of this folder is searched when it closes; here the search itself is tried. */
const spellings: readonly (readonly [string, (secret: string) => string])[] = [
  ["as it is", (secret) => secret],
  ["in base64", (secret) => Buffer.from(secret).toString("base64")],
  ["as a JSON string", (secret) => JSON.stringify({ secret })],
  ["in a URL", (secret) => `?secret=${encodeURIComponent(secret)}`],
  ["in hex", (secret) => Buffer.from(secret).toString("hex")],
];

test.each(spellings)("a secret that stands %s in a log fails the run", async (_, spell) => {
  const world = await withKey();
  world.logs.push(spell((await world.entries("key")).secret ?? ""));
  await expect(world.close()).rejects.toThrow("secrets were leaked");
});

test("a secret in a status fails the run", async () => {
  const world = await withKey();
  const { secret } = await world.entries("key");
  await world.operator?.stop();
  await world.annotate("ApiKey", "key", { note: secret ?? "" });
  await expect(world.close()).rejects.toThrow("secrets were leaked");
});

test("a secret in a trace fails the run", async () => {
  const world = await withKey();
  const { secret } = await world.entries("key");
  await world.operator?.stop();
  const issue = world.spans.find(({ name }) => name === "console issueKey");
  if (issue === undefined) throw new Error("the issue is in no trace");
  world.spans.push({ ...issue, fields: { note: secret } });
  await expect(world.close()).rejects.toThrow("secrets were leaked");
});

test("a run without a leak passes", async () => {
  const world = await withKey();
  expect(world.secrets().length).toBeGreaterThanOrEqual(2);
  await world.close();
});

async function withKey(): Promise<World> {
  const world = await World.open();
  await world.serviceAccount("ci");
  await world.apiKey("key");
  await world.ready("ApiKey", "key");
  return world;
}
