import { expect, test } from "vitest";
import { inWorld } from "../real-world/in-world.ts";

test(
  "a Connection logs in once, renews its token once, and stays while it is in use",
  inWorld({}, async (world) => {
    await world.condition("Connection", "console", "Authenticated", "True");
    await world.ready("Connection", "console");
    const { status } = await world.get("Connection", "console");
    expect(status?.lastAuthenticationTime).toMatch(/Z$/);
    await world.serviceAccount("ci");
    await world.ready("ServiceAccount", "ci");
    expect(world.iam.requests.count("login")).toBe(1);

    world.iam.world.revokeTokens();
    await world.reconcile("ServiceAccount", "ci", "one");
    await world.ready("ServiceAccount", "ci");
    expect(world.iam.requests.count("login")).toBe(2);
    const events = await world.events("ci");
    expect(events).not.toContainEqual(expect.objectContaining({ type: "Warning" }));

    await world.delete("Connection", "console");
    await world.condition("Connection", "console", "Ready", "False", "InUse");
    expect(await world.message("Connection", "console")).toContain(
      `ServiceAccount ${world.namespace}/ci`,
    );
    // What it is needed for still works.
    await world.apiKey("key");
    await world.ready("ApiKey", "key");
    await world.delete("ApiKey", "key");
    await world.delete("ServiceAccount", "ci");
    await world.isGone("Connection", "console");
  }),
);
