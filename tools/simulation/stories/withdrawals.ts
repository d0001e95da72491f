/** Policies that an administrator takes back are gone, whatever the tenant has set; and how access is revoked. */
import { annotations } from "../../../src/api/meta.ts";
import { secretType } from "../../../src/kube/resource-types.ts";
import {
  apiKeyType,
  policyBindingType,
  serviceAccountType,
} from "../../../src/resources/resource-types.ts";
import { MINUTE, SECOND } from "../../../src/util/time.ts";
import type { Tree } from "../../api-server/tree.ts";
import { OPERATOR_NAMESPACE } from "../places.ts";
import { ACCOUNT, createBinding, DEPLOY, MEMBER, READ } from "../scenarios.ts";
import { bindInConsole, createInConsole, grant, granting, withdrawn } from "./in-console.ts";
import { type Story, type StoryWorld, unready } from "./story.ts";

const planOnly = { [annotations.planOnly]: "true" };

type Begin = (world: StoryWorld) => Promise<void>;

/** Two PolicyBindings, and a policy that an administrator bound. */
async function beginWithTwo(
  world: StoryWorld,
  {
    connection = {},
    account = {},
    spec = {},
  }: { connection?: Tree; account?: Tree; spec?: Tree } = {},
): Promise<void> {
  await world.begin({ policyIds: [READ], connection, account });
  world.change(policyBindingType, "reader", spec);
  createBinding(world.sim, "deployer", [DEPLOY], spec);
  await world.pass(2 * SECOND);
  bindInConsole(world, [DEPLOY, MEMBER, READ]);
  await world.pass(10 * MINUTE);
}

function changeAccount(world: StoryWorld, spec: Tree): void {
  world.change(serviceAccountType, ACCOUNT, spec);
}

function expectReason(world: StoryWorld, reason: string, name = "reader"): void {
  world.expect(name, world.condition(policyBindingType, name)?.reason, reason);
}

function isStalled(world: StoryWorld, name = "reader"): boolean {
  return world.condition(policyBindingType, name, "Stalled")?.status === "True";
}

function messageOf(world: StoryWorld, name = "reader"): string {
  return world.condition(policyBindingType, name)?.message ?? "";
}

function syncs(world: StoryWorld): number {
  return world.calls("syncBindings");
}

interface Shield {
  readonly what: string;
  readonly raise: Begin;
  /** What the ServiceAccount's Ready condition says then. */
  readonly reason?: string;
}

/** What a tenant may do so that an account is not worked on. */
const shields: readonly Shield[] = [
  { what: "nothing", raise: (world) => beginWithTwo(world), reason: "Created" },
  {
    what: "a suspended ServiceAccount",
    raise: afterTwo((world) => changeAccount(world, { suspend: true })),
  },
  {
    what: "a plan-only ServiceAccount",
    raise: afterTwo((world) => world.annotate(serviceAccountType, ACCOUNT, planOnly)),
  },
  {
    what: "a plan-only PolicyBinding",
    raise: afterTwo((world) => world.annotate(policyBindingType, "reader", planOnly)),
  },
  {
    what: "a suspended PolicyBinding",
    raise: afterTwo((world) => world.change(policyBindingType, "reader", { suspend: true })),
  },
  {
    what: "an account that is disabled in the console",
    raise: async (world) => {
      await beginWithTwo(world);
      const [account] = [...world.sim.console.world.accounts.values()];
      world.sim.setAccountStatusInConsole(account?.saId ?? "", "inactive");
      await world.pass(6 * MINUTE);
    },
    reason: "ServiceAccountNotActive",
  },
  {
    what: "an import that is not granted any more",
    raise: async (world) => {
      const { saId } = createInConsole(world);
      const connection = granting({ importServiceAccounts: true });
      await beginWithTwo(world, { account: { saId }, connection });
      grant(world, { importServiceAccounts: false });
    },
    reason: "NotGranted",
  },
  {
    what: "a suspended ServiceAccount that is being deleted",
    raise: afterTwo((world) => {
      changeAccount(world, { suspend: true });
      world.sim.delete(serviceAccountType, ACCOUNT);
    }),
  },
  {
    what: "a ServiceAccount whose deletion waits for an ApiKey",
    raise: afterTwo((world) => {
      for (const name of ["reader", "deployer"]) world.sim.delete(policyBindingType, name);
      world.sim.delete(serviceAccountType, ACCOUNT);
    }),
    reason: "InUse",
  },
  {
    what: "a ServiceAccount whose deletion is not possible",
    raise: async (world) => {
      await beginWithTwo(world, {
        account: { deletionPolicy: "Delete" },
        connection: granting({ retainPolicies: true }),
        spec: { deletionPolicy: "Retain" },
      });
      for (const name of ["reader", "deployer"]) world.sim.delete(policyBindingType, name);
      world.sim.delete(apiKeyType, "ci");
      await world.pass(2 * SECOND);
      world.sim.delete(serviceAccountType, ACCOUNT);
    },
    reason: "DeleteNotPossible",
  },
];

function afterTwo(raise: (world: StoryWorld) => void): Begin {
  return async (world) => {
    await beginWithTwo(world);
    raise(world);
  };
}

/** The shield is up. */
async function behind(world: StoryWorld, { raise, reason }: Shield): Promise<void> {
  await raise(world);
  await world.pass(2 * SECOND);
  const found = world.condition(serviceAccountType, ACCOUNT)?.reason;
  world.expect("the shield", found, reason ?? found);
}

const shieldStories: readonly Story[] = shields.flatMap((shield) => [
  withdrawn(
    `a policy that is taken out of the grant is unbound behind ${shield.what}`,
    async (world) => {
      await behind(world, shield);
      grant(world, { policyIds: [DEPLOY] });
      await world.pass(2 * MINUTE);
      world.expect("it is unbound", world.bound.includes(READ), false);
      world.expect("those of others stay", world.bound.includes(MEMBER));
      const before = syncs(world);
      await world.pass(5 * MINUTE);
      world.expect("by one call", syncs(world), before);
    },
  ),
  withdrawn(`revoked access unbinds everything behind ${shield.what}`, async (world) => {
    await behind(world, shield);
    changeAccount(world, { access: "Revoked" });
    await world.pass(2 * MINUTE);
    world.expect("nothing is bound", world.bound, []);
  }),
  withdrawn(
    `a namespace without a grant loses what the operator bound behind ${shield.what}`,
    async (world) => {
      await behind(world, shield);
      grant(world, "Nothing");
      await world.pass(11 * MINUTE);
      world.expect("only theirs is left", world.bound, [MEMBER]);
    },
  ),
]);

const grantStories: readonly Story[] = [
  withdrawn(
    "the last policy of an account may be withdrawn, and one that was bound outside the operator stays",
    async (world) => {
      await beginWithTwo(world);
      world.sim.delete(policyBindingType, "deployer");
      grant(world, { policyIds: ["pol-other"] });
      await world.pass(MINUTE);
      world.expect("only theirs is left", world.bound, [MEMBER]);
      expectReason(world, "PolicyNotGranted");
      world.expect("a person has to act", isStalled(world));
      world.expect("it says what happened", messageOf(world).includes("is unbound"));
      grant(world, {});
      await world.pass(MINUTE);
      world.expect("bound again", world.bound, [MEMBER, READ]);
    },
  ),
  withdrawn(
    "a policy that is taken out of the grant leaves the others of its PolicyBinding, even a suspended one",
    async (world) => {
      await beginWithTwo(world);
      createBinding(world.sim, "both", [DEPLOY, READ]);
      await world.pass(2 * SECOND);
      world.change(policyBindingType, "both", { suspend: true });
      grant(world, { policyIds: [READ] });
      await world.pass(5 * SECOND);
      world.expect("the others are left", world.bound, [MEMBER, READ]);
      const { status } = world.sim.get(policyBindingType, "both") ?? {};
      const { appliedPolicyIds } = status as { appliedPolicyIds?: readonly string[] };
      world.expect("the record follows", appliedPolicyIds, [READ]);
      world.expect("it is not Ready", world.condition(policyBindingType, "both")?.status, "False");
      expectReason(world, "Synced");
      world.change(policyBindingType, "both", { suspend: false });
      grant(world, {});
      await world.pass(MINUTE);
      world.expect("all are bound again", world.bound, [DEPLOY, MEMBER, READ]);
    },
  ),
  withdrawn("a connection that cannot be used withdraws nothing", async (world) => {
    await beginWithTwo(world);
    grant(world, { policyIds: [DEPLOY] }, { suspend: true });
    world.sim.delete(secretType, "console-login", OPERATOR_NAMESPACE);
    await world.pass(20 * MINUTE);
    world.expect("bound as before", world.bound, [DEPLOY, MEMBER, READ]);
  }),
  withdrawn(
    "a removed grant is announced, and unbinds after the grace period, also after a restart",
    async (world) => {
      await beginWithTwo(world);
      grant(world, "Nothing");
      await world.pass(2 * SECOND);
      const told = [...world.events("reader"), ...world.events(ACCOUNT)].join(" ");
      world.expect("an event", /GrantRemoved: .*pol-read.* will be unbound at \S+Z/.test(told));
      expectReason(world, "NotGranted");
      world.expect("a person has to act", isStalled(world));
      world.expect("it says when", /pol-read will be unbound at \S+Z/.test(messageOf(world)));
      await world.pass(9 * MINUTE);
      world.happens({ kind: "Kill" });
      await world.pass(45 * SECOND);
      world.expect("bound during the grace period", world.bound, [DEPLOY, MEMBER, READ]);
      await world.pass(MINUTE);
      world.expect("only theirs is left", world.bound, [MEMBER]);
      expectReason(world, "NotGranted");
      const before = syncs(world);
      await world.pass(11 * MINUTE);
      world.expect("once", syncs(world), before);
    },
  ),
  withdrawn(
    "a grant that comes back in time keeps everything, and the grace period starts over",
    async (world) => {
      await beginWithTwo(world);
      grant(world, "Nothing");
      await world.pass(9 * MINUTE);
      grant(world, {});
      await world.pass(MINUTE);
      expectReason(world, "Synced");
      grant(world, "Nothing");
      await world.pass(9 * MINUTE);
      world.expect("bound as before", world.bound, [DEPLOY, MEMBER, READ]);
    },
  ),
  withdrawn("a removed grant unbinds at once with a grace period of 0s", async (world) => {
    await beginWithTwo(world);
    grant(world, "Nothing", { withdrawalGracePeriod: "0s" });
    await world.pass(5 * SECOND);
    world.expect("only theirs is left", world.bound, [MEMBER]);
  }),
  withdrawn(
    "the grace period is not extended while the console cannot be called",
    async (world) => {
      await beginWithTwo(world);
      grant(world, "Nothing");
      await world.pass(9 * MINUTE);
      for (const operation of ["listBindings", "syncBindings"])
        world.fault(operation, { kind: "Refuse", status: 503 }, 10_000);
      await world.pass(3 * MINUTE);
      world.expect("still bound", world.bound, [DEPLOY, MEMBER, READ]);
      world.cease();
      await world.pass(6 * MINUTE);
      world.expect("only theirs is left", world.bound, [MEMBER]);
    },
  ),
  unready(
    "a PolicyBinding that is deleted in a namespace without a grant is revoked",
    async (world) => {
      await beginWithTwo(world);
      grant(world, "Nothing");
      await world.pass(MINUTE);
      world.sim.delete(policyBindingType, "reader");
      await world.pass(MINUTE);
      world.expect("it is gone", world.sim.get(policyBindingType, "reader"), undefined);
      world.expect("its policy, too", world.bound, [DEPLOY, MEMBER]);
    },
  ),
  unready("an account that is gone is known to be gone without a grant, too", async (world) => {
    await world.begin();
    grant(world, "Nothing");
    await world.pass(SECOND);
    world.happens({ kind: "EndAccounts", how: "Delete" });
    await world.pass(7 * MINUTE);
    const { message = "" } = world.condition(policyBindingType, "reader") ?? {};
    world.expect("its policies, too", message.includes("no longer"));
    const types = [apiKeyType, policyBindingType, serviceAccountType];
    for (const [index, name] of ["ci", "reader", ACCOUNT].entries())
      world.sim.delete(types[index] ?? apiKeyType, name);
    await world.pass(MINUTE);
    for (const [index, name] of ["ci", "reader", ACCOUNT].entries())
      world.expect(`${name} goes`, world.sim.get(types[index] ?? apiKeyType, name), undefined);
    const told = [...world.events("ci"), ...world.events("reader")].join(" ");
    world.expect("nothing is said to be left", /NotRevoked/.test(told), false);
  }),
  withdrawn(
    "nothing is withdrawn from an account that was found at another console",
    async (world) => {
      await beginWithTwo(world);
      grant(world, "Nothing", { baseURL: "https://other.example.com" });
      await world.pass(12 * MINUTE);
      world.expect("bound as before", world.bound, [DEPLOY, MEMBER, READ]);
    },
  ),
];

const suspensionStories: readonly Story[] = [
  withdrawn(
    "a suspended ServiceAccount holds everything else, deletions included, without a call",
    async (world) => {
      await beginWithTwo(world);
      changeAccount(world, { suspend: true });
      await world.pass(SECOND);
      const calls = syncs(world) + world.calls("listBindings");
      world.sim.delete(policyBindingType, "reader");
      world.change(policyBindingType, "deployer", { policyIds: [MEMBER] });
      await world.pass(5 * MINUTE);
      world.expect("bound as before", world.bound, [DEPLOY, MEMBER, READ]);
      world.expect("it stays", world.sim.get(policyBindingType, "reader") !== undefined);
      expectReason(world, "ServiceAccountSuspended", "deployer");
      world.expect("a person has to act", isStalled(world, "deployer"));
      world.expect("no call", syncs(world) + world.calls("listBindings"), calls);
      grant(world, { policyIds: [DEPLOY] });
      await world.pass(MINUTE);
      world.expect("a withdrawal goes through", world.bound, [DEPLOY, MEMBER]);
      world.expect("it still stays", world.sim.get(policyBindingType, "reader") !== undefined);
    },
  ),
  ...[{ deletionPolicy: "Retain" }, { suspend: true }].map((spec) =>
    withdrawn(
      `Retain without the right to it is Revoke, and says so: ${JSON.stringify(spec)}`,
      async (world) => {
        await beginWithTwo(world, { connection: granting({ retainPolicies: false }), spec });
        const isRetain = "deletionPolicy" in spec;
        world.expect("it is said before", /a deletion unbinds/.test(messageOf(world)), isRetain);
        world.sim.delete(policyBindingType, "reader");
        await world.pass(MINUTE);
        world.expect("it is gone", world.sim.get(policyBindingType, "reader"), undefined);
        world.expect("its policy, too", world.bound, [DEPLOY, MEMBER]);
        const told = world.events("reader").join(" ");
        world.expect("an event", /RetainNotGranted: .*pol-read were unbound/.test(told));
      },
    ),
  ),
  unready(
    "Retain without the right to it waits for a console that does not answer",
    async (world) => {
      await beginWithTwo(world, {
        connection: granting({ retainPolicies: false }),
        spec: { deletionPolicy: "Retain" },
      });
      for (const operation of ["getServiceAccount", "listBindings", "syncBindings"])
        world.fault(operation, { kind: "Refuse", status: 503 }, 10_000);
      await world.pass(6 * MINUTE);
      world.expect(
        "unavailable",
        world.condition(serviceAccountType, ACCOUNT)?.reason,
        "Unavailable",
      );
      world.sim.delete(policyBindingType, "reader");
      await world.pass(5 * MINUTE);
      world.expect("it stays", world.sim.get(policyBindingType, "reader") !== undefined);
    },
  ),
];

const bound = { Revoked: [], Granted: [READ] } as const;
const opposite = { Revoked: "Granted", Granted: "Revoked" } as const;

/** The opposite is carried out, but no status tells of it. */
async function changeMind(
  world: StoryWorld,
  access: "Revoked" | "Granted",
  restarts: boolean,
): Promise<void> {
  await world.begin({ policyIds: [READ], account: { access } });
  world.expect("bound before", world.bound, bound[access]);
  const before = syncs(world);
  changeAccount(world, { access: opposite[access] });
  world.fault("syncBindings", { kind: "Slow", ms: SECOND });
  await world.until(() => syncs(world) > before);
  for (const plural of ["serviceaccounts", "policybindings"])
    world.fault(`apply ${plural}/status`, { kind: "Refuse", status: 500 }, 3);
  await world.until(() => world.bound.length !== bound[access].length);
  await world.pass(2 * SECOND);
  if (restarts) world.happens({ kind: "Kill" });
  changeAccount(world, { access });
  await world.pass(11 * MINUTE);
  world.expect("bound in the end", world.bound, bound[access]);
}

const accessStories: readonly Story[] = [
  unready("access to an account that was deleted in the console is revoked", async (world) => {
    await world.begin({ policyIds: [READ] });
    world.sim.delete(apiKeyType, "ci");
    await world.pass(MINUTE);
    const console = world.sim.console.world;
    for (const { saId } of [...console.accounts.values()]) console.deleteAccount(saId);
    changeAccount(world, { access: "Revoked" });
    await world.pass(5 * MINUTE);
    const { status, reason } = world.condition(serviceAccountType, ACCOUNT, "AccessRevoked") ?? {};
    world.expect("a wait for it ends", `${status} ${reason}`, "True ServiceAccountGone");
    const ready = world.condition(serviceAccountType, ACCOUNT);
    world.expect("it is not Ready", ready?.reason, "ServiceAccountGone");
  }),
  ...(["bindings", "unreadable"] as const).map((bindings) =>
    withdrawn(
      `revoked access unbinds what was bound outside since the last read (the console answers: ${bindings})`,
      async (world) => {
        await world.begin({ policyIds: [READ] });
        world.sim.delete(policyBindingType, "reader");
        await world.pass(5 * SECOND);
        bindInConsole(world, [MEMBER]);
        changeAccount(world, { access: "Revoked" });
        await world.pass(5 * SECOND);
        world.expect("nothing is bound", world.bound, []);
      },
      { console: { shapes: { bindings } } },
    ),
  ),
  ...(["Revoked", "Granted"] as const).flatMap((access) =>
    [false, true].map((restarts) =>
      withdrawn(
        `access that is ${access} before the opposite is recorded has its way (after a restart: ${restarts})`,
        (world) => changeMind(world, access, restarts),
      ),
    ),
  ),
  withdrawn(
    "revoked access works for an account without any PolicyBinding, and is for a person to restore",
    async (world) => {
      await world.begin({ policyIds: [READ] });
      world.sim.delete(policyBindingType, "reader");
      await world.pass(MINUTE);
      bindInConsole(world, [MEMBER]);
      changeAccount(world, { access: "Revoked" });
      createBinding(world.sim, "later", [DEPLOY]);
      await world.pass(MINUTE);
      world.expect("nothing is bound", world.bound, []);
      expectReason(world, "AccessRevoked", "later");
      world.expect("a person has to act", isStalled(world, "later"));
      const reconciling = world.condition(policyBindingType, "later", "Reconciling");
      world.expect("nothing is under way", reconciling, undefined);
    },
  ),
];

export const withdrawalStories: readonly Story[] = [
  ...shieldStories,
  ...grantStories,
  ...suspensionStories,
  ...accessStories,
];
