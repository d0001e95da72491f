/** Whether statuses say of policies what the console has bound, whatever else holds for the account. */
import { annotations } from "../../../src/api/meta.ts";
import { policyBindingType, serviceAccountType } from "../../../src/resources/resource-types.ts";
import { MINUTE } from "../../../src/util/time.ts";
import { isTree, listAt, type Tree, treeAt } from "../../api-server/tree.ts";
import { ACCOUNT, createBinding, DEPLOY, MEMBER, READ } from "../scenarios.ts";
import { bindInConsole, grant, granting } from "./in-console.ts";
import { OF_MEDDLING, type Story, type StoryWorld, unready } from "./story.ts";

/** What may hold for an account with the PolicyBindings `reader` and `second`. */
interface BoundCircumstance {
  readonly what: string;
  /** Whether nothing is recorded of what the console has bound: nothing is read, or there is only a plan. */
  readonly stopsRecord?: true;
  readonly arrange: (world: StoryWorld) => void;
}

const PLAN_ONLY = { [annotations.planOnly]: "true" };
const FOREIGN = "pol-deny-list";
const NAMES = ["reader", "second"];

const reader = (spec: Tree) => (world: StoryWorld) => {
  if (world.sim.get(policyBindingType, "reader") !== undefined)
    world.change(policyBindingType, "reader", spec);
};
const account = (spec: Tree) => (world: StoryWorld) =>
  world.change(serviceAccountType, ACCOUNT, spec);

export const boundCircumstances: readonly BoundCircumstance[] = [
  { what: "the operator restarts", arrange: (world) => world.happens({ kind: "Kill" }) },
  { what: "a PolicyBinding is suspended", arrange: reader({ suspend: true }) },
  {
    what: "a PolicyBinding is plan-only",
    stopsRecord: true,
    arrange: (world) => {
      if (world.sim.get(policyBindingType, "reader") !== undefined)
        world.annotate(policyBindingType, "reader", PLAN_ONLY);
    },
  },
  { what: "the account is suspended", stopsRecord: true, arrange: account({ suspend: true }) },
  {
    what: "the account is plan-only",
    stopsRecord: true,
    arrange: (world) => world.annotate(serviceAccountType, ACCOUNT, PLAN_ONLY),
  },
  { what: "access is revoked", arrange: account({ access: "Revoked" }) },
  { what: "foreign policies are removed", arrange: account({ foreignPolicies: "Remove" }) },
  { what: "the grant is gone", arrange: (world) => grant(world, "Nothing") },
  {
    what: "the grant has fewer policies",
    arrange: (world) => grant(world, { policyIds: [READ, MEMBER] }),
  },
  {
    what: "the console does not list policies",
    stopsRecord: true,
    arrange: (world) => world.fault("listBindings", { kind: "Refuse", status: 503 }, 10_000),
  },
  {
    what: "the account is disabled at the console",
    stopsRecord: true,
    arrange: (world) => world.happens({ kind: "EndAccounts", how: "Disable" }),
  },
  {
    what: "the account is gone from the console",
    stopsRecord: true,
    arrange: (world) => world.happens({ kind: "EndAccounts", how: "Delete" }),
  },
  {
    what: "another client binds a policy",
    arrange: (world) => bindInConsole(world, [...world.bound, FOREIGN]),
  },
  {
    what: "another client unbinds a policy",
    arrange: (world) =>
      bindInConsole(
        world,
        world.bound.filter((policyId) => policyId !== READ),
      ),
  },
  { what: "a PolicyBinding changes", arrange: reader({ policyIds: [READ, MEMBER] }) },
  { what: "a policy is mistyped", arrange: reader({ policyIds: [READ, "pol-mistyped"] }) },
  ...NAMES.map((name) => ({
    what: `PolicyBinding ${name} is deleted`,
    arrange: (world: StoryWorld) => world.sim.delete(policyBindingType, name),
  })),
  {
    what: "the account is being deleted",
    arrange: (world) => world.sim.delete(serviceAccountType, ACCOUNT),
  },
];

/** Two reads of an account, and the report of the second. */
const NOTICED_MS = 12 * MINUTE;

export function boundStory(...situation: readonly BoundCircumstance[]): Story {
  const what = situation.map((each) => each.what).join(", then ");
  return unready(
    `statuses say which policies are bound: ${what}`,
    async (world) => {
      await world.begin({ connection: granting({}) });
      createBinding(world.sim, "second", [DEPLOY, MEMBER]);
      await world.pass(MINUTE);
      for (const { arrange } of situation) {
        arrange(world);
        await world.pass(MINUTE / 2);
      }
      await world.pass(NOTICED_MS);
      for (const name of NAMES) checkMessage(world, name);
      if (!situation.some(({ stopsRecord }) => stopsRecord)) checkRecord(world);
    },
    { excuses: OF_MEDDLING },
  );
}

/** What the console has bound to the account, if it has the account. */
function boundIn(world: StoryWorld): readonly string[] {
  return world.sim.console.world.accounts.size === 0 ? [] : world.bound;
}

function declaredBy(world: StoryWorld, name: string): readonly string[] {
  const spec = treeAt(world.sim.get(policyBindingType, name) ?? {}, "spec");
  return listAt(spec, "policyIds").map(String);
}

/** Sentences that list policies, or count them, as bound. */
const LISTED = /(?:^| )(?:Bound|Still bound, and not in spec\.policyIds): ([^.]*)\./g;
const COUNTED = /(\d+) (?:policy is|policies are) bound\./;
const MISSING = /Not bound for this object yet: ([^.]*)\./;

function checkMessage(world: StoryWorld, name: string): void {
  const { status, reason, message = "" } = world.condition(policyBindingType, name) ?? {};
  const said = `iampb/${name} is ${status} ${reason}: ${message}`;
  const bound = boundIn(world);
  const listed = [...message.matchAll(LISTED)].flatMap(([, ids = ""]) => ids.split(", "));
  world.expect(
    said,
    listed.filter((policyId) => !bound.includes(policyId)),
    [],
  );
  const declared = declaredBy(world, name);
  const count = COUNTED.exec(message)?.[1];
  if (count !== undefined)
    world.expect(said, declared.filter((each) => bound.includes(each)).length, Number(count));
  const missing = MISSING.exec(message)?.[1]?.split(", ") ?? [];
  const others = NAMES.filter((each) => each !== name).flatMap((each) => declaredBy(world, each));
  world.expect(
    said,
    missing.filter((policyId) => bound.includes(policyId) && !others.includes(policyId)),
    [],
  );
  if (status === "True")
    world.expect(
      said,
      declared.filter((policyId) => !bound.includes(policyId)),
      [],
    );
}

function checkRecord(world: StoryWorld): void {
  const status = treeAt(world.sim.get(serviceAccountType, ACCOUNT) ?? {}, "status");
  const policies = listAt(treeAt(status, "bindings"), "policies").filter(isTree);
  const claimed = policies.filter(({ missing }) => missing !== true);
  const ids = claimed.map(({ policyId }) => String(policyId)).toSorted();
  if (Object.keys(status).length > 0) world.expect("the record of the account", ids, world.bound);
}
