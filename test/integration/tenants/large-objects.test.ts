/** The caches leave out what makes an object large: it is reconciled all the same. */
import { expect, test } from "vitest";
import { inWorld } from "../../real-world/in-world.ts";

const large = "x".repeat(16_000);

test(
  "an ApiKey with 48 KiB of templates gets all of them into its Secret, and again when they change",
  inWorld({}, async (world) => {
    const data = { keyId: "${keyId}", secret: "${secret}", a: large, b: large, c: large };
    const annotations = { "example.com/note": large };
    await world.serviceAccount("ci");
    await world.apiKey("key", { secret: { data } }, { annotations });
    await world.ready("ApiKey", "key");
    expect(await world.entries("key")).toMatchObject({ a: large, b: large, c: large });
    await world.apiKey("key", { secret: { data: { ...data, c: "new" } } }, { annotations });
    await world.until("the new entry", async () => (await world.entries("key")).c === "new");
    await world.delete("ApiKey", "key");
    await world.isGone("ApiKey", "key");
    expect(world.iam.requests.count("issueKey")).toBe(1);
  }),
);
