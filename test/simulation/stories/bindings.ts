/** Policies: whose they are, what grants allow, and what is never taken away. */
import {
  clusterConnectionType,
  connectionType,
  policyBindingType,
  serviceAccountType,
} from "../../../src/controllers/resource-types.ts";
import { namespaceType, secretType } from "../../../src/kube/resource-types.ts";
import { HOUR, MINUTE, SECOND } from "../../../src/util/time.ts";
import { DEFAULT_CREDENTIALS, SEEDED } from "../../iam-server/seed.ts";
import type { AccountRecord, Policy } from "../../iam-server/world.ts";
import type { Tree } from "../../support/api-server/tree.ts";
import { ACCOUNT, createBinding, DEPLOY, MEMBER, READ } from "../scenarios.ts";
import { connectionSpec } from "../sim-world.ts";
import { type Story, type StoryWorld, story } from "./story.ts";

const unready = { endsReady: false } as const;

function grant(change: Tree): Tree {
  return {
    grants: [{ name: "all", namespaces: { names: ["team-a"] }, policyIds: ["*"], ...change }],
  };
}

function bindAtConsole(world: StoryWorld, policyIds: readonly string[]): void {
  const console = world.sim.console.world;
  const [account] = [...console.accounts.values()];
  console.replaceBindings(account?.tpn ?? "", policyIds);
}

/** An account that an administrator made, with a policy. */
function createInConsole(world: StoryWorld): AccountRecord {
  const console = world.sim.console.world;
  const { orgId, projectId } = SEEDED;
  const account = console.createAccount({ orgId, projectId, name: "old", description: "" });
  console.replaceBindings(account.tpn, [MEMBER]);
  return account;
}

/** Another namespace with an account of its own. */
function createElsewhere(
  world: StoryWorld,
  namespace: string,
  labels: Tree = {},
  spec: Tree = {},
): void {
  world.sim.create(namespaceType, { metadata: { name: namespace, labels } });
  world.sim.create(serviceAccountType, {
    metadata: { name: "theirs", namespace },
    spec: { description: "theirs", ...spec },
  });
}

export const bindingStories: readonly Story[] = [
  story("policies of two PolicyBindings are bound together", async (world) => {
    await world.begin({ policyIds: [READ] });
    createBinding(world.sim, "second", [MEMBER]);
    await world.pass(MINUTE);
    world.expect("both are bound", world.bound, [MEMBER, READ]);
    world.sim.delete(policyBindingType, "second");
    await world.pass(MINUTE);
    world.expect("one is left", world.bound, [READ]);
  }),
  story("policies that an administrator bound stay", async (world) => {
    await world.begin({ policyIds: [READ] });
    bindAtConsole(world, [READ, MEMBER]);
    world.change(policyBindingType, "reader", { policyIds: [DEPLOY] });
    await world.pass(5 * MINUTE);
    world.expect("theirs and ours", world.bound, [DEPLOY, MEMBER]);
  }),
  story(
    "policies that an administrator bound are removed where that is asked for",
    async (world) => {
      await world.begin({ policyIds: [READ], account: { foreignPolicies: "Remove" } });
      bindAtConsole(world, [READ, MEMBER]);
      await world.pass(HOUR);
      world.expect("only ours", world.bound, [READ]);
    },
  ),
  story("what was just unbound is not bound again because a list is behind", async (world) => {
    await world.begin({ policyIds: [READ] });
    await world.pass(MINUTE);
    world.change(policyBindingType, "reader", { policyIds: [DEPLOY] });
    await world.pass(20 * SECOND);
    world.fault("listBindings", { kind: "Behind", ms: MINUTE });
    world.change(policyBindingType, "reader", { policyIds: [MEMBER] });
    await world.pass(20 * SECOND);
    world.expect("only what is declared", world.bound, [MEMBER]);
    bindAtConsole(world, [READ, MEMBER]);
    await world.pass(15 * MINUTE);
    world.expect("what an administrator bound afterwards stays", world.bound, [MEMBER, READ]);
  }),
  story(
    "nothing is bound where the bindings cannot be read",
    async (world) => {
      await world.begin();
      bindAtConsole(world, [MEMBER]);
      await world.pass(HOUR);
      world.expect("bound as before", world.bound, [MEMBER]);
    },
    {
      ...unready,
      console: { shapes: { bindings: "unreadable" } },
      excuses: ["S10 completeness"],
    },
  ),
  story(
    "policies beyond the grant are not bound",
    async (world) => {
      await world.begin({ policyIds: [READ, DEPLOY], connection: grant({ policyIds: [READ] }) });
      await world.pass(5 * MINUTE);
      world.expect("nothing beyond it", world.bound.includes(DEPLOY), false);
      world.expect(
        "the binding says so",
        world.condition(policyBindingType, "reader")?.status,
        "False",
      );
    },
    unready,
  ),
  story(
    "a removed grant unbinds nothing if the connection says Never",
    async (world) => {
      const never = { withdrawalGracePeriod: "Never" };
      await world.begin({ policyIds: [READ], connection: { ...grant({}), ...never } });
      world.change(clusterConnectionType, "default", { ...never, grants: [] });
      await world.pass(HOUR);
      world.expect("bound as before", world.bound, [READ]);
    },
    unready,
  ),
  story(
    "a removed grant unbinds after the grace period",
    async (world) => {
      await world.begin({ policyIds: [READ], connection: grant({}) });
      world.change(clusterConnectionType, "default", { grants: [] });
      await world.pass(5 * MINUTE);
      world.expect("bound during the grace period", world.bound, [READ]);
      await world.pass(6 * MINUTE);
      world.expect("nothing is bound after it", world.bound, []);
    },
    { ...unready, excuses: ["S10 completeness", "S11 S20 releases"] },
  ),
  story(
    "a policy that is taken out of a grant is unbound at once",
    async (world) => {
      await world.begin({ policyIds: [READ, DEPLOY], connection: grant({}) });
      world.change(clusterConnectionType, "default", grant({ policyIds: [READ] }));
      await world.pass(MINUTE);
      world.expect("what was withdrawn is unbound", world.bound, [READ]);
    },
    { ...unready, excuses: ["S10 completeness", "S11 S20 releases"] },
  ),
  story(
    "a namespace without a grant gets no account",
    async (world) => {
      await world.begin();
      createElsewhere(world, "team-b");
      await world.pass(5 * MINUTE);
      world.expect("one account", world.sim.console.world.accounts.size, 1);
    },
    unready,
  ),
  story(
    "a grant by labels holds for namespaces with these labels only",
    async (world) => {
      const namespaces = { selector: { matchLabels: { tier: "prod" } } };
      await world.begin({
        connection: {
          grants: [...(grant({}).grants as Tree[]), { name: "prod", namespaces, policyIds: ["*"] }],
        },
      });
      createElsewhere(world, "team-b", { tier: "test" });
      createElsewhere(world, "team-c", { tier: "prod" });
      await world.pass(5 * MINUTE);
      world.expect("two accounts", world.sim.console.world.accounts.size, 2);
    },
    unready,
  ),
  story(
    "a namespace with a Connection of its own",
    async (world) => {
      await world.begin();
      const namespace = "team-b";
      createElsewhere(
        world,
        namespace,
        {},
        { connectionRef: { kind: "Connection", name: "default" } },
      );
      world.sim.create(secretType, {
        metadata: { name: "login", namespace },
        stringData: { ...DEFAULT_CREDENTIALS },
      });
      const { grants: _, ...spec } = connectionSpec;
      world.sim.create(connectionType, {
        metadata: { name: "default", namespace },
        spec: { ...spec, credentials: { login: { secretRef: { name: "login" } } } },
      });
      await world.pass(5 * MINUTE);
      world.expect("two accounts", world.sim.console.world.accounts.size, 2);
      world.expect("each connection logged in", world.calls("login"), 2);
    },
    { excuses: ["S19 logins"] },
  ),
  story(
    "a policy that is not granted leaves those of others alone",
    async (world) => {
      await world.begin({
        account: { foreignPolicies: "Remove" },
        connection: grant({ policyIds: [READ] }),
        policyIds: [DEPLOY],
      });
      bindAtConsole(world, [MEMBER]);
      await world.pass(HOUR);
      world.expect("bound as before", world.bound, [MEMBER]);
    },
    unready,
  ),
  story(
    "of an imported account nothing is unbound while its policies cannot be read",
    async (world) => {
      const { saId, tpn } = createInConsole(world);
      await world.begin({
        account: { saId },
        connection: grant({ importServiceAccounts: true, retainPolicies: true }),
        policyIds: [READ],
      });
      createBinding(world.sim, "kept", [DEPLOY], { deletionPolicy: "Retain" });
      await world.pass(MINUTE);
      world.rewrite("listBindings", () => "[7]");
      world.sim.delete(policyBindingType, "reader");
      await world.pass(9 * MINUTE);
      world.expect("nothing is unbound", world.boundTo(tpn), [DEPLOY, MEMBER, READ]);
      world.expect("the object stays", world.sim.get(policyBindingType, "reader") !== undefined);
      world.cease();
      await world.pass(30 * MINUTE);
      world.expect("then its policy goes", world.boundTo(tpn), [DEPLOY, MEMBER]);
      world.expect("and it, too", world.sim.get(policyBindingType, "reader"), undefined);
      world.sim.delete(policyBindingType, "kept");
      await world.pass(10 * MINUTE);
      world.expect("one that retains goes", world.sim.get(policyBindingType, "kept"), undefined);
      world.expect("and leaves its policy", world.boundTo(tpn), [DEPLOY, MEMBER]);
    },
    unready,
  ),
  story("a list that lacks the policies of others is not believed at once", async (world) => {
    await world.begin({ policyIds: [READ] });
    bindAtConsole(world, [READ, MEMBER]);
    await world.pass(20 * MINUTE);
    const partial = (body: string) => body.replaceAll(MEMBER, READ);
    world.fault("listBindings", { kind: "Answer", status: 200, body: partial });
    world.change(policyBindingType, "reader", { policyIds: [DEPLOY] });
    await world.pass(5 * MINUTE);
    world.expect("theirs and ours", world.bound, [DEPLOY, MEMBER]);
  }),
  ...(["bindings", "unreadable"] as const).map((bindings) =>
    story(
      `a call that is done late binds nothing for long (the console answers: ${bindings})`,
      async (world) => {
        await world.begin({ policyIds: [READ] });
        world.fault("syncBindings", { kind: "LateCommit", ms: 40 * SECOND, status: 504 });
        world.change(policyBindingType, "reader", { policyIds: [READ, MEMBER] });
        await world.pass(5 * SECOND);
        world.change(policyBindingType, "reader", { policyIds: [READ] });
        await world.pass(25 * SECOND);
        world.expect("the late call is still to come", world.bound, [READ]);
        await world.pass(11 * MINUTE);
        world.expect("what was taken back is not bound", world.bound, [READ]);
      },
      { console: { shapes: { bindings } } },
    ),
  ),
  story(
    "a fight over policies ends after a while",
    async (world) => {
      await world.begin({ policyIds: [READ, DEPLOY] });
      for (let minute = 0; minute < 50; minute += 1) {
        bindAtConsole(world, [READ]);
        await world.pass(MINUTE);
      }
      world.expect("few corrections", world.calls("syncBindings") <= 7);
    },
    unready,
  ),
  story(
    "more policies than a status can name are not bound",
    async (world) => {
      await world.begin({ policyIds: [READ] });
      const console = world.sim.console.world;
      const [policy] = [...console.policies.values()];
      const theirs = Array.from({ length: 1_000 }, (_, index) => `pol-${index}`);
      for (const policyId of theirs) console.putPolicy({ ...(policy as Policy), policyId });
      bindAtConsole(world, [READ, ...theirs]);
      world.change(policyBindingType, "reader", { policyIds: [READ, DEPLOY] });
      await world.pass(10 * MINUTE);
      world.expect("nothing more is bound", world.bound.includes(DEPLOY), false);
    },
    unready,
  ),
  story(
    "a policy that the console rejects is not on record",
    async (world) => {
      await world.begin({ policyIds: [READ] });
      createBinding(world.sim, "second", ["pol-unknown"]);
      await world.pass(5 * MINUTE);
      world.expect("the other one is bound", world.bound, [READ]);
      const { status } = world.sim.get(policyBindingType, "second") as { status: Tree };
      world.expect("nothing is on record", status.appliedPolicyIds ?? [], []);
      world.expect(
        "the object says why",
        world.condition(policyBindingType, "second")?.reason,
        "PolicyRefused",
      );
    },
    unready,
  ),
  story(
    "a policy that was left bound goes with its grant",
    async (world) => {
      await world.begin({ connection: grant({ retainPolicies: true }), policyIds: [READ] });
      world.change(policyBindingType, "reader", { deletionPolicy: "Retain" });
      world.sim.delete(policyBindingType, "reader");
      await world.pass(2 * MINUTE);
      world.expect("it is left bound", world.bound, [READ]);
      world.happens({ kind: "Kill" });
      world.change(clusterConnectionType, "default", grant({ policyIds: [DEPLOY] }));
      await world.pass(2 * MINUTE);
      world.expect("then it is unbound", world.bound, []);
    },
    { ...unready, excuses: ["S11 S20 releases"] },
  ),
  story(
    "each PolicyBinding that goes tells what stays bound, even if the next one cannot go",
    async (world) => {
      await world.begin({ connection: grant({ retainPolicies: true }), policyIds: [READ] });
      createBinding(world.sim, "second", [MEMBER], { deletionPolicy: "Retain" });
      world.change(policyBindingType, "reader", { deletionPolicy: "Retain" });
      await world.pass(MINUTE);
      world.fault("patch policybindings", { kind: "Slow", ms: SECOND });
      world.fault("patch policybindings", { kind: "Refuse", status: 500 }, 2);
      for (const name of ["reader", "second"]) world.sim.delete(policyBindingType, name);
      await world.pass(5 * MINUTE);
      for (const name of ["reader", "second"])
        world.expect(name, world.events(name).join(" ").includes("PoliciesNotRevoked"));
    },
    unready,
  ),
  story("a suspended PolicyBinding keeps what it has bound, and binds nothing", async (world) => {
    await world.begin({ policyIds: [READ] });
    world.change(policyBindingType, "reader", { suspend: true, policyIds: [READ, DEPLOY] });
    await world.pass(MINUTE);
    createBinding(world.sim, "second", [MEMBER]);
    await world.pass(MINUTE);
    world.expect("only the second one's is new", world.bound, [MEMBER, READ]);
    world.change(policyBindingType, "reader", { suspend: false });
    await world.pass(MINUTE);
    world.expect("then all are bound", world.bound, [DEPLOY, MEMBER, READ]);
  }),
  story("access that is suspended comes back", async (world) => {
    await world.begin({ policyIds: [READ] });
    world.change(serviceAccountType, ACCOUNT, { access: "Revoked" });
    await world.pass(MINUTE);
    world.expect("nothing is bound", world.bound, []);
    world.change(serviceAccountType, ACCOUNT, { access: "Granted" });
    await world.pass(MINUTE);
    world.expect("bound again", world.bound, [READ]);
  }),
  story("bindings whose objects vanished without a word are still reported", async (world) => {
    await world.begin({ policyIds: [READ], account: { foreignPolicies: "Remove" } });
    world.happens({ kind: "RemoveFinalizers", plural: "policybindings" });
    world.happens({ kind: "DeleteObject", plural: "policybindings" });
    await world.pass(2 * HOUR);
    world.expect("nothing is unbound without a word", world.bound, [READ]);
  }),
  story(
    "a plan for everything changes nothing",
    async (world) => {
      await world.begin();
      world.expect("no account", world.calls("createServiceAccount"), 0);
      world.expect("no key", world.issued, 0);
      world.expect("no policy", world.calls("syncBindings"), 0);
    },
    { ...unready, flags: ["--leader-elect=false", "--read-only"] },
  ),
];
