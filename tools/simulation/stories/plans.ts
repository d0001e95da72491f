/** Objects that the operator only plans for: it reports what it would do, and does it once it may. */
import { annotations } from "../../../src/api/meta.ts";
import type { PlannedCall } from "../../../src/api/plan.ts";
import type { ResourceType } from "../../../src/kube/resource.ts";
import { secretType } from "../../../src/kube/resource-types.ts";
import {
  apiKeyType,
  policyBindingType,
  serviceAccountType,
} from "../../../src/resources/resource-types.ts";
import { MINUTE, SECOND } from "../../../src/util/time.ts";
import type { Tree } from "../../api-server/tree.ts";
import { SEEDED } from "../../iam-server/seed.ts";
import { extraCalls } from "../scenarios/console.ts";
import { ACCOUNT, inNamespace, MEMBER, READ } from "../scenarios.ts";
import { connectionSpec } from "../sim-world.ts";
import { type Story, type StoryWorld, story, unready } from "./story.ts";

const PLAN_ONLY = { [annotations.planOnly]: "true" };
const serviceAccountRef = { name: ACCOUNT };
const data = { keyId: "${keyId}", secret: "${secret}", id: "${keyId}" };
const template = { secret: { data } };

/** A change of an object, the calls planned for it, and the operations of these calls. */
const cases: readonly (readonly [
  type: ResourceType,
  name: string,
  spec: Tree,
  calls: readonly string[],
  operations: readonly string[],
])[] = [
  [serviceAccountType, "second", {}, ["createServiceAccount"], ["createServiceAccount"]],
  [policyBindingType, "reader", { policyIds: [READ, MEMBER] }, ["syncBindings"], ["syncBindings"]],
  [apiKeyType, "ci", template, ["writeSecret"], ["patch secrets"]],
  [apiKeyType, "second", { serviceAccountRef }, ["issueKey", "writeSecret"], ["issueKey"]],
];

function planOf(world: StoryWorld, type: ResourceType, name: string) {
  const { plan } = (world.sim.get(type, name)?.status ?? {}) as {
    readonly plan?: { readonly calls: readonly PlannedCall[] };
  };
  return plan?.calls;
}

function planned(world: StoryWorld, type: ResourceType, name: string) {
  return planOf(world, type, name)?.map(({ call }) => call);
}

/** Writes of everything but statuses. */
function writes(world: StoryWorld): readonly string[] {
  return world.sim.journal.calls
    .filter(({ mutating }) => mutating)
    .map(({ operation }) => operation)
    .filter((operation) => !/status$| (events|leases)$/.test(operation));
}

function put(world: StoryWorld, type: ResourceType, name: string, spec: Tree): void {
  if (world.sim.get(type, name) === undefined)
    world.sim.create(type, { metadata: { ...inNamespace(name), annotations: PLAN_ONLY }, spec });
  else world.sim.patch(type, name, { metadata: { annotations: PLAN_ONLY }, spec });
}

export const planStories: readonly Story[] = [
  ...cases.map(([type, name, spec, calls, operations]) =>
    story(`what is planned for ${type.kind} ${name} is done once it may be`, async (world) => {
      await world.begin();
      const before = writes(world);
      put(world, type, name, spec);
      await world.pass(10 * SECOND);
      world.expect("the plan", planned(world, type, name), calls);
      world.expect("nothing is written", writes(world), before);
      world.annotate(type, name, { [annotations.planOnly]: null });
      await world.pass(MINUTE);
      world.expect("the plan is gone", planOf(world, type, name), undefined);
      const done = writes(world).slice(before.length);
      for (const operation of operations) world.expect(operation, done.includes(operation));
    }),
  ),
  story("objects that need nothing have an empty plan and are Ready", async (world) => {
    await world.begin();
    for (const [type, name] of [
      [serviceAccountType, ACCOUNT],
      [policyBindingType, "reader"],
      [apiKeyType, "ci"],
    ] as const) {
      put(world, type, name, {});
      await world.pass(10 * SECOND);
      world.expect("the plan", planned(world, type, name), []);
      world.expect("it is Ready", world.condition(type, name)?.status, "True");
    }
  }),
  story(
    "a planned change of policies names them, and holds up the account's others",
    async (world) => {
      await world.begin({ policyIds: [READ] });
      put(world, policyBindingType, "second", { serviceAccountRef, policyIds: [MEMBER] });
      world.change(policyBindingType, "reader", { policyIds: [MEMBER] });
      await world.pass(10 * SECOND);
      const [call] = planOf(world, policyBindingType, "reader") ?? [];
      const ids = (names: readonly string[] = []) => names.map((name) => name.split(" ")[0]);
      world.expect("bound and unbound", [ids(call?.bind), ids(call?.unbind)], [[MEMBER], [READ]]);
      world.expect("nothing is changed", world.bound, [READ]);
      world.annotate(policyBindingType, "second", { [annotations.planOnly]: null });
    },
  ),
  unready(
    "a deletion that is only planned for leaves everything",
    async (world) => {
      await world.begin({ connection: { extraCalls } });
      const before = writes(world);
      for (const [type, name] of [
        [apiKeyType, "ci"],
        [policyBindingType, "reader"],
      ] as const) {
        put(world, type, name, {});
        world.sim.delete(type, name);
      }
      await world.pass(10 * SECOND);
      const ending = ["disableKey", "deleteKey", "deleteSecret"];
      world.expect("of the key", planned(world, apiKeyType, "ci"), ending);
      world.expect("of the policies", planned(world, policyBindingType, "reader"), [
        "syncBindings",
      ]);
      world.expect("nothing is written", writes(world), before);
    },
    { console: { extraCalls } },
  ),
  story("a pair that no Secret holds is written although only a plan is wanted", async (world) => {
    world.fault("create secrets", { kind: "Refuse", status: 500 }, 1_000);
    await world.begin();
    world.annotate(apiKeyType, "ci", PLAN_ONLY);
    world.cease();
    await world.pass(MINUTE);
    world.expect("it is kept", world.sim.get(secretType, "ci-next") !== undefined);
    world.expect("the plan", planned(world, apiKeyType, "ci"), ["writeSecret", "deleteSecret"]);
    world.annotate(apiKeyType, "ci", { [annotations.planOnly]: null });
    await world.pass(MINUTE);
    world.expect("one key was issued", world.issued, 1);
  }),
  unready(
    "an operator that only plans imports an account, and changes nothing",
    async (world) => {
      const { orgId, projectId } = SEEDED;
      const console = world.sim.console.world;
      const { saId } = console.createAccount({ orgId, projectId, name: "old", description: "" });
      const [grant] = connectionSpec.grants as readonly Tree[];
      const grants = [{ ...grant, importServiceAccounts: true }];
      await world.begin({ account: { saId }, connection: { grants } });
      world.expect("the account", world.condition(serviceAccountType, ACCOUNT)?.reason, "Imported");
      world.expect("the key", planned(world, apiKeyType, "ci"), ["issueKey", "writeSecret"]);
      world.expect("the policies", planned(world, policyBindingType, "reader"), ["syncBindings"]);
      world.expect("nothing is written", writes(world), []);
    },
    { flags: ["--leader-elect=false", "--read-only"] },
  ),
];
