/** A console that asks to wait is not called by the connection's objects, except by those that a person asks about. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { World } from "./support/world.ts";

let world: World;
beforeEach(async () => {
  world = await World.open();
  await world.serviceAccount("ci");
  await world.serviceAccount("other");
  await world.ready("ServiceAccount", "ci");
  await world.apiKey("key");
  await world.ready("ApiKey", "key");
  await world.ready("ServiceAccount", "other");
  world.iam.faults.add({
    operation: "getServiceAccount",
    when: "beforeCommit",
    action: { kind: "status", status: 429, retryAfter: 240 },
  });
  await world.annotate("ServiceAccount", "other", {
    "iam-operator.io/reconcile-requested-at": "1",
  });
  await world.condition("ServiceAccount", "other", "Ready", "False", "RateLimited");
});
afterEach(() => world.close());

test("a rotation by annotation goes through while the console asked to wait", async () => {
  const { keyId } = await world.entries("key");
  await world.annotate("ApiKey", "key", { "iam-operator.io/rotate-requested-at": "now" });
  await world.until("another key", async () => (await world.entries("key")).keyId !== keyId);
  expect(await world.holdsLivePair("key")).toBe(true);
});

test("a new PolicyBinding waits, a changed and a deleted one go through", async () => {
  const tpn = (await world.get("ServiceAccount", "ci")).status?.tpn ?? "";
  const spec = { serviceAccountRef: { name: "ci" }, policyIds: ["pol-read"] };
  await world.apply("PolicyBinding", "read", spec);
  await world.condition("PolicyBinding", "read", "Ready", "False", "RateLimited");
  expect(world.iam.world.bindings.get(tpn) ?? []).toEqual([]);
  await world.apply("PolicyBinding", "read", { ...spec, policyIds: ["pol-deploy"] });
  await world.ready("PolicyBinding", "read");
  expect(world.iam.world.bindings.get(tpn) ?? []).toEqual(["pol-deploy"]);
  await world.delete("PolicyBinding", "read");
  await world.isGone("PolicyBinding", "read");
  expect(world.iam.world.bindings.get(tpn) ?? []).toEqual([]);
});
