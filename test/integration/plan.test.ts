/** Objects that are only planned for, and operators that only plan, at a real API server. */
import { afterEach, expect, test } from "vitest";
import { annotations } from "../../src/api/meta.ts";
import { World } from "./support/world.ts";

let world: World;
afterEach(() => world.close());

const PLANNED = { annotations: { [annotations.planOnly]: "true" } };
const WRITING = ["createServiceAccount", "issueKey", "syncBindings"] as const;
const written = () => WRITING.map((call) => world.iam.requests.count(call));

test("an ApiKey that is planned for says what would be done, and gets it when the annotation goes", async () => {
  world = await World.open();
  await world.serviceAccount("ci");
  await world.ready("ServiceAccount", "ci");
  await world.apiKey("key", {}, PLANNED);
  const held = await world.condition("ApiKey", "key", "Stalled", "True", "PlanOnly");
  expect(held).toBeDefined();
  const planned = await world.get("ApiKey", "key");
  expect(planned.status?.plan?.calls.map(({ call }) => call)).toEqual(["issueKey", "writeSecret"]);
  expect(planned.metadata.finalizers).toBeUndefined();
  expect(written()).toEqual([1, 0, 0]);
  await world.annotate("ApiKey", "key", { [annotations.planOnly]: null });
  await world.ready("ApiKey", "key");
  expect((await world.get("ApiKey", "key")).status?.plan).toBeUndefined();
  expect(await world.holdsLivePair("key")).toBe(true);
});

test("a PolicyBinding that is planned for answers a request to be reconciled", async () => {
  world = await World.open();
  await world.serviceAccount("ci");
  await world.ready("ServiceAccount", "ci");
  const spec = { serviceAccountRef: { name: "ci" }, policyIds: ["pol-read"] };
  await world.apply("PolicyBinding", "read", spec, PLANNED);
  await world.condition("PolicyBinding", "read", "Stalled", "True", "PlanOnly");
  await world.lookAgain("PolicyBinding", "read", "now");
  expect((await world.get("PolicyBinding", "read")).status?.plan?.calls).toHaveLength(1);
  expect(written()).toEqual([1, 0, 0]);
});

test("a read-only operator changes nothing, and what it planned is done by one that may", async () => {
  world = await World.open({ config: { readOnly: true } });
  await world.serviceAccount("ci");
  await world.condition("ServiceAccount", "ci", "Stalled", "True", "PlanOnly");
  await world.apiKey("key");
  await world.condition("ApiKey", "key", "Stalled", "True", "ServiceAccountNotReady");
  expect(written()).toEqual([0, 0, 0]);
  expect((await world.get("ServiceAccount", "ci")).metadata.finalizers).toBeUndefined();
  await world.operator?.stop();
  await world.start(undefined, { readOnly: false });
  await world.ready("ApiKey", "key");
  expect(written()).toEqual([1, 1, 0]);
});
