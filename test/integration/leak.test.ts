import { expect, test } from "vitest";
import { openWorld } from "../real-world/in-world.ts";
import { findLeaks } from "../real-world/leaks.ts";

/** Every world of this folder is searched when it closes; here the search itself is tried. */
test.each<readonly [string, (secret: string) => string]>([
  ["as it is", (secret) => secret],
  ["in base64", (secret) => Buffer.from(secret).toString("base64")],
  ["as a JSON string", (secret) => JSON.stringify({ secret })],
  ["in a URL", (secret) => `?secret=${encodeURIComponent(secret)}`],
  ["in hex", (secret) => Buffer.from(secret).toString("hex")],
])("a secret is found %s", (_, spell) => {
  const secret = 'a+secret/with "signs"&=';
  expect(findLeaks({ logs: `before ${spell(secret)} after` }, [secret])).not.toEqual([]);
  expect(findLeaks({ logs: "before after" }, [secret])).toEqual([]);
});

test("a run fails if a secret is in a log, a status or a trace", async () => {
  const world = await openWorld();
  await world.serviceAccount("ci");
  await world.apiKey("key");
  await world.ready("ApiKey", "key");
  const { secret = "" } = await world.entries("key");
  expect(world.secrets()).toContain(secret);
  await world.manager?.stop();
  const issue = world.spans.find(({ name }) => name === "console issueKey");
  if (issue === undefined) throw new Error("the issue is in no trace");
  world.spans.push({ ...issue, fields: { note: secret } });
  world.logs.push(secret);
  await world.annotate("ApiKey", "key", { note: secret });
  await expect(world.close()).rejects.toThrow(/secrets were leaked: .*"logs".*"traces".*"objects"/);
});
