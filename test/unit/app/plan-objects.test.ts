import { afterEach, expect, test } from "vitest";
import { planObjects } from "../../../src/app/plan/plan-objects.ts";
import { toKubeReader } from "../../../src/kube/client/reader.ts";
import { systemRandom } from "../../../src/util/random.ts";
import { systemClock } from "../../../src/util/time.ts";
import { type PlanningWorld, planningWorld } from "../controllers/frame/planning-world.ts";

let world: PlanningWorld;
afterEach(() => world.close());

const object = (kind: string, name: string, spec: object) => ({
  apiVersion: "iam-operator.io/v1alpha1",
  kind,
  metadata: { name, namespace: "team" },
  spec,
});
const ref = { serviceAccountRef: { name: "bot" } };
const plan = async (objects: readonly ReturnType<typeof object>[]) => {
  const plans = await planObjects({
    kube: toKubeReader(world.context.kube),
    objects,
    operatorNamespace: "team",
    userAgent: "test",
    egressFor: () => ({}),
    clock: systemClock,
    random: systemRandom,
    signal: AbortSignal.timeout(60_000),
  });
  const calls = plans.flatMap(({ calls }) =>
    calls.map(({ call, object: about }) => `${call} ${about}`),
  );
  return { calls, obstacles: plans.flatMap(({ obstacle }) => obstacle ?? []) };
};

test("what belongs together is planned as a whole, several keys of one new account as well", async () => {
  world = await planningWorld();
  expect(
    await plan([
      object("ApiKey", "one", ref),
      object("ApiKey", "two", ref),
      object("PolicyBinding", "read", { ...ref, policyIds: ["pol-read"] }),
      object("ServiceAccount", "bot", {}),
    ]),
  ).toEqual({
    calls: [
      "createServiceAccount team-bot",
      "syncBindings tpn:new:sa/new:team-bot",
      "issueKey new:team-bot",
      "writeSecret team/one",
      "issueKey new:team-bot",
      "writeSecret team/two",
    ],
    obstacles: [],
  });
  expect(world.calls()).toEqual([]);
  expect(world.cluster.writes).toEqual([]);
});

test("revoking access of an account unbinds its policies", async () => {
  world = await planningWorld();
  await world.connect();
  world.put("ServiceAccount", "bot", {});
  await world.reconcile("ServiceAccount", "bot");
  world.put("PolicyBinding", "read", { ...ref, policyIds: ["pol-read"] });
  await world.reconcile("PolicyBinding", "read");
  const { tpn } = world.peek("ServiceAccount", "bot").status;
  expect(await plan([object("ServiceAccount", "bot", { access: "Revoked" })])).toEqual({
    calls: [`syncBindings ${tpn}`],
    obstacles: [expect.stringMatching(/^AccessRevoked: /)],
  });
});

test("a second account with the same name is not planned", async () => {
  world = await planningWorld();
  expect(
    await plan([
      object("ServiceAccount", "one", { name: "shared" }),
      object("ServiceAccount", "two", { name: "shared" }),
    ]),
  ).toEqual({
    calls: ["createServiceAccount shared"],
    obstacles: [expect.stringMatching(/^AccountExists: /)],
  });
});
