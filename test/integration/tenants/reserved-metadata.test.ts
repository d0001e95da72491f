/** Anyone who can create ApiKeys but not Secrets could steer other controllers by the metadata of an ApiKey's Secret. */
import { expect, test } from "vitest";
import { inWorld } from "../../real-world/in-world.ts";

const reserved = "argocd.argoproj.io/secret-type";

test(
  "a label of another controller gets onto a Secret only while the connection allows it; the key stays without it",
  inWorld({}, async (world) => {
    const secret = { labels: { [reserved]: "cluster", team: "a" } };
    const labels = async () => (await world.secret("key"))?.metadata.labels ?? {};
    const allow = (...allowedSecretMetadata: readonly string[]) =>
      world.patch("Connection", "console", { spec: { allowedSecretMetadata } });
    await world.serviceAccount("ci");
    await world.apiKey("key", { secret });
    const refused = async () => (await world.message("ApiKey", "key")).includes(reserved);
    await world.until("the label to be refused", refused);
    expect(world.iam.requests.count("issueKey")).toBe(0);

    await allow("argocd.argoproj.io");
    await world.ready("ApiKey", "key");
    expect(await labels()).toMatchObject(secret.labels);

    await allow();
    await world.until("the label to go", async () => (await labels())[reserved] === undefined);
    await world.until("a reason", refused);
    expect(await labels()).toMatchObject({ team: "a" });
    await world.rotate("key", "1");
    await world.until("another key", () => world.iam.requests.count("issueKey") === 2);
  }),
);
