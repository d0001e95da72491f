/** PolicyBindings of which not everything is bound, or more than they ask for: what is done, and what they say. */
import { annotations } from "../../../src/api/meta.ts";
import { policyBindingType, serviceAccountType } from "../../../src/resources/resource-types.ts";
import { MINUTE, SECOND } from "../../../src/util/time.ts";
import type { Tree } from "../../api-server/tree.ts";
import { ACCOUNT, createBinding, DEPLOY, MEMBER, READ } from "../scenarios.ts";
import { granting, revokeAndGrant } from "./in-console.ts";
import { type Story, type StoryWorld, story, unready } from "./story.ts";

const PLAN_ONLY = { [annotations.planOnly]: "true" };

function expectReady(world: StoryWorld, reason: string, ...parts: readonly string[]): void {
  const ready = world.condition(policyBindingType, "reader");
  world.expect("it is not Ready", [ready?.status, ready?.reason], ["False", reason]);
  for (const part of parts) world.expect(part, ready?.message.includes(part));
}

/** What keeps the operator from carrying out a change, and the reason that the object then has. */
const holds: readonly [
  what: string,
  reason: string,
  spec: Tree,
  hold: (world: StoryWorld) => void,
][] = [
  ["suspended", "Suspended", { suspend: true }, () => {}],
  ["plan-only", "PlanOnly", {}, (world) => world.annotate(policyBindingType, "reader", PLAN_ONLY)],
  [
    "of a plan-only account",
    "PlanOnly",
    {},
    (world) => world.annotate(serviceAccountType, ACCOUNT, PLAN_ONLY),
  ],
];

export const partlyBoundStories: readonly Story[] = [
  ...holds.flatMap(([what, reason, spec, hold]) => [
    unready(`a PolicyBinding ${what} says what is bound, not what should be`, async (world) => {
      await world.begin({ policyIds: [READ, DEPLOY] });
      hold(world);
      world.change(policyBindingType, "reader", { ...spec, policyIds: [READ, MEMBER] });
      await world.pass(10 * SECOND);
      world.expect("nothing is changed", world.bound, [DEPLOY, READ]);
      const left = `Still bound, and not in spec.policyIds: ${DEPLOY}.`;
      expectReady(world, reason, `Not bound for this object yet: ${MEMBER}.`, left);
    }),
  ]),
  ...["pol-mistyped", MEMBER.toUpperCase()].map((wrong) =>
    unready(`${wrong}, which the console does not have, keeps no other out`, async (world) => {
      await world.begin({ policyIds: [READ, wrong, DEPLOY] });
      await world.pass(10 * SECOND);
      world.expect("the others are bound", world.bound, [DEPLOY, READ]);
      expectReady(world, "PolicyRefused", `bind ${wrong}: `, `Bound: ${READ}, ${DEPLOY}.`);
      const calls = world.calls("syncBindings");
      await world.pass(11 * MINUTE);
      world.expect("it is not tried again", world.calls("syncBindings"), calls);
    }),
  ),
  story("a policy that the console gets later is bound after an hour", async (world) => {
    await world.begin({ policyIds: [READ, "pol-late"] });
    await world.pass(10 * SECOND);
    expectReady(world, "PolicyRefused", "or after an hour.");
    const console = world.sim.console.world;
    const [policy] = console.policies.values();
    if (policy !== undefined) console.putPolicy({ ...policy, policyId: "pol-late" });
    await world.pass(50 * MINUTE);
    world.expect("not before", world.bound, [READ]);
    await world.pass(21 * MINUTE);
    world.expect("then it is bound", world.bound, ["pol-late", READ].sort());
  }),
  story("a policy that the console gets later is bound at once on request", async (world) => {
    await world.begin({ policyIds: [READ, "pol-late"] });
    await world.pass(10 * SECOND);
    const console = world.sim.console.world;
    const [policy] = console.policies.values();
    if (policy !== undefined) console.putPolicy({ ...policy, policyId: "pol-late" });
    world.annotate(policyBindingType, "reader", { [annotations.reconcileRequestedAt]: "now" });
    await world.pass(10 * SECOND);
    world.expect("it is bound", world.bound, ["pol-late", READ].sort());
  }),
  unready("a mistyped policy in place of a bound one takes nothing away", async (world) => {
    await world.begin({ policyIds: [READ] });
    world.change(policyBindingType, "reader", { policyIds: ["pol-mistyped", DEPLOY] });
    await world.pass(10 * SECOND);
    world.expect("the bound one stays", world.bound, [DEPLOY, READ]);
    expectReady(world, "PolicyRefused", `Still bound, and not in spec.policyIds: ${READ}.`);
    world.change(policyBindingType, "reader", { policyIds: [DEPLOY] });
    await world.pass(10 * SECOND);
    world.expect("it goes with the correction", world.bound, [DEPLOY]);
  }),
  story("access comes back with every policy that is granted", async (world) => {
    const connection = granting({ policyIds: [READ] });
    await world.begin({ policyIds: [READ, MEMBER], connection });
    world.expect("what is granted is bound", world.bound, [READ]);
    expectReady(world, "PolicyNotGranted", MEMBER, `Bound: ${READ}.`);
    await revokeAndGrant(world, [READ]);
    world.change(policyBindingType, "reader", { policyIds: [READ] });
  }),
  unready("what is refused is named beside what is not granted", async (world) => {
    const connection = granting({ policyIds: [READ, "pol-mistyped"] });
    await world.begin({ policyIds: [READ, "pol-mistyped", MEMBER], connection });
    await world.pass(10 * SECOND);
    world.expect("the rest is bound", world.bound, [READ]);
    expectReady(
      world,
      "PolicyNotGranted",
      `grant this namespace policy ${MEMBER}`,
      "to bind pol-mistyped",
    );
    createBinding(world.sim, "second", [READ]);
    await world.pass(5 * MINUTE);
    world.expect("few calls", world.calls("syncBindings") <= 3);
  }),
];
