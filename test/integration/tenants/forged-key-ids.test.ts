/** A tenant writes a Secret that looks like one of the operator's, around the id of somebody else's key. */
import { expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/meta.ts";
import { pairHash } from "../../../src/kinds/api-key/secret/pair.ts";
import { Redacted } from "../../../src/util/redacted.ts";
import { SEEDED } from "../../../tools/iam-server/seed.ts";
import { EXTRA_CALLS } from "../../real-world/extra-calls.ts";
import { inWorld } from "../../real-world/in-world.ts";
import type { World } from "../../real-world/world.ts";

const { orgId, projectId } = SEEDED;
/** Nobody but the victim's consumers knows the real one. */
const secret = "made up";

function victimKey({ iam }: World): string {
  const { saId } = iam.world.createAccount({ orgId, projectId, name: "victim", description: "" });
  return iam.world.issueKey(saId, { description: "", expiresInDays: 30 }).key.keyId;
}

/** The operator's own Secret, with the victim's key id, and a hash that fits them and the operator's account. */
async function forge(world: World, name: string, role: string, keyId: string): Promise<void> {
  const own = await world.secret("key");
  const tokens = [{ kind: "variable", name: "secret", json: false }];
  await world.writeSecret(
    name,
    { keyId, secret },
    {
      labels: { ...own?.metadata.labels, [labels.role]: role },
      annotations: {
        ...own?.metadata.annotations,
        [annotations.keyId]: keyId,
        [annotations.pairHash]: pairHash(
          { keyId, secret: new Redacted(secret) },
          own?.metadata.annotations?.[annotations.account],
        ),
        [annotations.template]: JSON.stringify({ secret: { entry: "secret", tokens } }),
      },
    },
  );
}

const callsAbout = ({ iam }: World, keyId: string) =>
  iam.requests.all.filter(({ path }) => path.includes(keyId)).map(({ operation }) => operation);

test(
  "a pending Secret made by hand ends no key of another account when its ApiKey is deleted",
  inWorld({ extraCalls: EXTRA_CALLS }, async (world) => {
    const keyId = victimKey(world);
    await world.serviceAccount("ci");
    await world.apiKey("key");
    await world.ready("ApiKey", "key");
    const own = (await world.entries("key")).keyId ?? "";
    await world.manager?.stop();
    await forge(world, "key-next", "pending", keyId);
    await world.delete("ApiKey", "key");
    await world.start();
    await world.until("the refusal", async () =>
      (await world.message("ApiKey", "key")).includes(`keys lacks ${keyId}`),
    );
    expect(callsAbout(world, keyId)).toEqual([]);
    expect(world.iam.world.keys.has(own)).toBe(false);
  }),
);
