/** Admission policies of the cluster that refuse Secrets, on a real API server. */
import { expect, test } from "vitest";
import { requireOfSecrets } from "../real-world/cluster-policy.ts";
import { inWorld } from "../real-world/in-world.ts";
import type { World } from "../real-world/world.ts";

/** Reconciles the ApiKey until its forecast is this: a policy takes a while to be in force, and to end. */
async function foresees(world: World, status: "True" | "False", reason: string): Promise<void> {
  let round = 0;
  await world.until(`IssuanceAllowed=${status} ${reason}`, async () => {
    round += 1;
    await world.reconcile("ApiKey", "key", `${status}-${round}`);
    const { conditions = [] } = (await world.get("ApiKey", "key")).status ?? {};
    const found = conditions.find(({ type }) => type === "IssuanceAllowed");
    return found?.status === status && found.reason === reason;
  });
}

test(
  "a refusal of either Secret is foreseen, and issues no key; a label that is required is on both",
  inWorld({}, async (world) => {
    const issued = () => world.iam.requests.count("issueKey");
    await world.serviceAccount("ci");
    await world.apiKey("key");
    await world.ready("ApiKey", "key");
    const { keyId } = await world.entries("key");

    const endOfLabels = await requireOfSecrets(world, "has(object.metadata.labels.team)");
    await foresees(world, "False", "SecretRejected");
    await world.rotate("key", "refused");
    await world.condition("ApiKey", "key", "Ready", "True", "SecretRejected");
    expect([issued(), await world.holdsLivePair("key")]).toEqual([1, true]);

    await world.apiKey("key", { secret: { labels: { team: "payments" } } });
    await world.until("another key", async () => (await world.entries("key")).keyId !== keyId);
    await world.ready("ApiKey", "key");
    expect([issued(), await world.holdsLivePair("key")]).toEqual([2, true]);
    await endOfLabels();

    const endOfFreeze = await requireOfSecrets(world, "object.metadata.name != 'key'");
    await foresees(world, "False", "SecretRejected");
    await endOfFreeze();
    await foresees(world, "True", "Allowed");
    expect(issued()).toBe(2);
  }),
);
