/** Policies: whose they are, what grants allow, and what is never taken away. */
import { recordedPolicies } from "../../../src/accounts/recorded-policies.ts";
import { annotations } from "../../../src/api/meta.ts";
import type { PolicyState } from "../../../src/api/service-account.ts";
import type { ResourceType } from "../../../src/kube/resource.ts";
import { namespaceType, secretType } from "../../../src/kube/resource-types.ts";
import {
  apiKeyType,
  clusterConnectionType,
  connectionType,
  policyBindingType,
  serviceAccountType,
} from "../../../src/resources/resource-types.ts";
import { HOUR, MINUTE, SECOND } from "../../../src/util/time.ts";
import { listAt, type Tree, treeAt } from "../../api-server/tree.ts";
import { DEFAULT_CREDENTIALS } from "../../iam-server/seed.ts";
import type { Policy } from "../../iam-server/world.ts";
import { ACCOUNT, createBinding, DEPLOY, inNamespace, MEMBER, READ } from "../scenarios.ts";
import { connectionSpec } from "../sim-world.ts";
import { bindInConsole, createInConsole, grant, granting, revokeAndGrant } from "./in-console.ts";
import { type Story, type StoryWorld, story, unready } from "./story.ts";

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

function reasonOf(world: StoryWorld, name = "reader"): string | undefined {
  return world.condition(policyBindingType, name)?.reason;
}

/** What the account's status says about its policies. */
function recordOf(world: StoryWorld): Tree {
  return treeAt(treeAt(world.sim.get(serviceAccountType, ACCOUNT) ?? {}, "status"), "bindings");
}

function bindingStatus(world: StoryWorld): Tree {
  return treeAt(world.sim.get(policyBindingType, "reader") ?? {}, "status") ?? {};
}

function ageMs(world: StoryWorld, time: unknown): number {
  return world.sim.kernel.now - Date.parse(String(time));
}

/** The policies in its record, in these states if any are given. */
function recorded(world: StoryWorld, ...states: readonly PolicyState[]): readonly string[] {
  return recordedPolicies(recordOf(world), ...states);
}

/** A console that stores IDs of policies in upper case. */
const upperCase = { console: { shapes: { policyIdCase: "upper" } } } as const;

/** What can happen to the account of a PolicyBinding so that nothing can be bound for it. */
const unusableAccounts = {
  "is suspended": {
    spoil: (world: StoryWorld) => world.change(serviceAccountType, ACCOUNT, { suspend: true }),
    reason: "ServiceAccountSuspended",
  },
  "is missing": {
    spoil: (world: StoryWorld) => {
      world.happens({ kind: "RemoveFinalizers", plural: "serviceaccounts" });
      world.happens({ kind: "DeleteObject", plural: "serviceaccounts" });
    },
    reason: "WaitingForServiceAccount",
  },
  "is gone from the console": {
    spoil: (world: StoryWorld) => {
      const [account] = world.sim.console.world.accounts.values();
      world.sim.deleteAccountInConsole(account?.saId ?? "");
    },
    reason: "WaitingForServiceAccount",
  },
} as const;

const withdrawals: readonly [what: string, act: (world: StoryWorld) => void, left: string[]][] = [
  ["a PolicyBinding is deleted", (world) => world.sim.delete(policyBindingType, "reader"), []],
  [
    "a PolicyBinding declares less",
    (world) => world.change(policyBindingType, "reader", { policyIds: [READ] }),
    [READ],
  ],
  ["a grant names less", (world) => grant(world, { policyIds: [READ] }), [READ]],
];

export const bindingStories: readonly Story[] = [
  story("policies of two PolicyBindings are bound together", async (world) => {
    await world.begin({ policyIds: [READ] });
    createBinding(world.sim, "second", [MEMBER]);
    await world.pass(MINUTE);
    world.expect("both are bound", world.bound, [MEMBER, READ]);
    world.expect("both are on record", recorded(world, "Declared").toSorted(), [MEMBER, READ]);
    world.expect("nothing else is", recorded(world).length, 2);
    world.sim.delete(policyBindingType, "second");
    await world.pass(MINUTE);
    world.expect("one is left", world.bound, [READ]);
  }),
  story(
    "a console that stores IDs of policies in another spelling is believed and not corrected",
    async (world) => {
      await world.begin({ policyIds: [READ] });
      const said = () => world.condition(policyBindingType, "reader")?.message;
      const spelling = "1 policy is bound. The console stores another spelling: POL-READ.";
      world.expect("it is said", said(), spelling);
      bindInConsole(world, [MEMBER, READ]);
      await world.pass(30 * MINUTE);
      world.happens({ kind: "Kill" });
      await world.pass(30 * MINUTE);
      world.expect("nothing is corrected", world.calls("syncBindings"), 1);
      world.expect("it is said still", said(), spelling);
      world.expect("on record", recordOf(world).policies, [
        { policyId: READ, state: "Declared", consoleSpelling: READ.toUpperCase() },
        { policyId: MEMBER.toUpperCase(), state: "Foreign" },
      ]);
      bindInConsole(world, [MEMBER]);
      await world.pass(11 * MINUTE);
      world.expect("a change in the console is corrected", world.bound, [MEMBER, READ]);
      world.sim.delete(policyBindingType, "reader");
      await world.pass(MINUTE);
      world.expect("a deletion unbinds it", world.bound, [MEMBER]);
    },
    upperCase,
  ),
  story(
    "a retained account loses what the operator bound, in any spelling",
    async (world) => {
      const connection = granting({ retainPolicies: true });
      await world.begin({ policyIds: [READ], account: { deletionPolicy: "Retain" }, connection });
      bindInConsole(world, [MEMBER, READ]);
      world.change(policyBindingType, "reader", { deletionPolicy: "Retain" });
      await world.pass(SECOND);
      world.sim.delete(apiKeyType, "ci");
      world.sim.delete(policyBindingType, "reader");
      await world.pass(11 * MINUTE);
      world.expect("its policy is left", world.bound, [MEMBER, READ]);
      world.expect("and known to be", recorded(world, "Abandoned"), [READ]);
      grant(world, { retainPolicies: false });
      await world.pass(SECOND);
      world.sim.delete(serviceAccountType, ACCOUNT);
      await world.pass(MINUTE);
      world.expect("the other policy stays", world.bound, [MEMBER]);
    },
    { ...upperCase, excuses: ["S10 completeness", "S11 S20 releases"] },
  ),
  story(
    "in another spelling, a policy is declared that was bound outside the operator",
    async (world) => {
      await world.begin({ policyIds: [READ] });
      bindInConsole(world, [MEMBER, READ]);
      await world.pass(11 * MINUTE);
      world.change(policyBindingType, "reader", { policyIds: [READ, MEMBER] });
      await world.pass(MINUTE);
      world.expect("it is Synced", reasonOf(world), "Synced");
      await world.pass(30 * MINUTE);
      world.expect("by one call", world.calls("syncBindings"), 2);
      world.expect("nothing is foreign", recorded(world, "Foreign"), []);
      world.change(policyBindingType, "reader", { policyIds: ["POL-READ", MEMBER] });
      await world.pass(30 * MINUTE);
      world.expect("the console's spelling needs no call", world.calls("syncBindings"), 2);
      world.change(serviceAccountType, ACCOUNT, { access: "Revoked" });
      await world.pass(MINUTE);
      world.expect("access is revoked", world.bound, []);
      world.change(serviceAccountType, ACCOUNT, { access: "Granted" });
    },
    upperCase,
  ),
  story("PolicyBindings of one account are submitted in one call", async (world) => {
    world.fault("createServiceAccount", { kind: "Slow", ms: 2 * SECOND });
    const begun = world.begin({ policyIds: [READ] });
    createBinding(world.sim, "second", [DEPLOY, READ]);
    await begun;
    world.expect("all are bound", world.bound, [DEPLOY, READ]);
    world.expect("one call", world.calls("syncBindings"), 1);
  }),
  story(
    "at rest and after a restart nothing is asked for and nothing is written",
    async (world) => {
      await world.begin({ policyIds: [READ] });
      await world.pass(MINUTE);
      const work = () =>
        world.sim.journal.calls.filter(
          ({ mutating, operation }) => mutating || operation === "listBindings",
        ).length;
      const before = work();
      await world.pass(3 * MINUTE);
      world.expect("at rest", work(), before);
      world.happens({ kind: "Kill" });
      await world.pass(MINUTE);
      world.expect("after a restart", work(), before);
    },
  ),
  story("a policy that two PolicyBindings declare stays until both are gone", async (world) => {
    await world.begin({ policyIds: [READ] });
    createBinding(world.sim, "second", [READ]);
    await world.pass(5 * SECOND);
    world.expect("the second one is Ready", reasonOf(world, "second"), "Synced");
    world.sim.delete(policyBindingType, "reader");
    await world.pass(5 * SECOND);
    world.expect("it stays bound", world.bound, [READ]);
    world.sim.delete(policyBindingType, "second");
    await world.pass(5 * SECOND);
    world.expect("it is gone", world.sim.get(policyBindingType, "second"), undefined);
    world.expect("with its policy", world.bound, []);
  }),
  story("an account that no PolicyBinding names is never asked about", async (world) => {
    await world.begin({ policyIds: [READ] });
    world.sim.create(serviceAccountType, {
      metadata: inNamespace("other"),
      spec: { foreignPolicies: "Remove" },
    });
    await world.pass(5 * SECOND);
    const console = world.sim.console.world;
    const { tpn = "" } = [...console.accounts.values()].at(-1) ?? {};
    console.replaceBindings(tpn, [MEMBER]);
    const { length } = world.sim.journal.calls;
    await world.pass(20 * MINUTE);
    const asked = world.sim.journal.calls
      .slice(length)
      .filter(({ operation, target }) => operation === "listBindings" && target.includes(tpn));
    world.expect("nothing is asked", asked, []);
    world.expect("its policy stays", world.boundTo(tpn), [MEMBER]);
  }),
  story("an account that is not there yet, or not ready, is waited for", async (world) => {
    await world.begin({ policyIds: [READ] });
    const serviceAccountRef = { name: "later" };
    createBinding(world.sim, "second", [READ], { serviceAccountRef });
    await world.pass(5 * SECOND);
    world.expect("not there", reasonOf(world, "second"), "WaitingForServiceAccount");
    world.fault("createServiceAccount", { kind: "Refuse", status: 503 }, 2);
    world.sim.create(serviceAccountType, { metadata: inNamespace("later"), spec: {} });
    await world.pass(SECOND);
    world.expect("not ready", reasonOf(world, "second"), "WaitingForServiceAccount");
    world.expect("nothing is called", world.calls("syncBindings"), 1);
  }),
  story("an account is found again at another console before anything is bound", async (world) => {
    await world.begin({ policyIds: [READ] });
    world.fault("getServiceAccount", { kind: "Refuse", status: 503 }, 10_000);
    const baseURL = "https://other.example.com";
    world.change(clusterConnectionType, "default", { baseURL });
    await world.pass(10 * SECOND);
    createBinding(world.sim, "second", [DEPLOY]);
    await world.pass(MINUTE);
    world.expect("nothing new is bound", world.bound, [READ]);
    world.expect("it waits", reasonOf(world, "second"), "WaitingForServiceAccount");
    world.cease();
    await world.pass(6 * MINUTE);
    world.expect("then it is bound", world.bound, [DEPLOY, READ]);
  }),
  ...(["policyIds", "policies", "strings"] as const).map((bindings) =>
    story(
      `policies that an administrator bound stay (the console answers: ${bindings})`,
      async (world) => {
        await world.begin({ policyIds: [READ] });
        bindInConsole(world, [READ, MEMBER]);
        createBinding(world.sim, "second", [DEPLOY]);
        await world.pass(5 * SECOND);
        world.expect("theirs and ours", world.bound, [DEPLOY, MEMBER, READ]);
      },
      { console: { shapes: { bindings } } },
    ),
  ),
  story("policies that an administrator bound stay", async (world) => {
    await world.begin({ policyIds: [READ] });
    bindInConsole(world, [READ, MEMBER]);
    world.change(policyBindingType, "reader", { policyIds: [DEPLOY] });
    await world.pass(5 * MINUTE);
    world.expect("theirs and ours", world.bound, [DEPLOY, MEMBER]);
  }),
  story(
    "policies that an administrator bound are removed where that is asked for",
    async (world) => {
      await world.begin({ policyIds: [READ], account: { foreignPolicies: "Remove" } });
      bindInConsole(world, [READ, MEMBER]);
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
    bindInConsole(world, [READ, MEMBER]);
    await world.pass(15 * MINUTE);
    world.expect("what an administrator bound afterwards stays", world.bound, [MEMBER, READ]);
  }),
  unready(
    "nothing is bound where the bindings cannot be read",
    async (world) => {
      await world.begin();
      bindInConsole(world, [MEMBER]);
      await world.pass(HOUR);
      world.expect("bound as before", world.bound, [MEMBER]);
    },
    {
      console: { shapes: { bindings: "unreadable" } },
      excuses: ["S10 completeness"],
    },
  ),
  unready(
    "policies beyond the grant are not bound, and nothing is called for them",
    async (world) => {
      const connection = granting({ policyIds: [READ] });
      await world.begin({ policyIds: [DEPLOY], connection });
      await world.pass(5 * MINUTE);
      world.expect("nothing is bound", world.bound, []);
      const calls = world.calls("syncBindings") + world.calls("listBindings");
      world.expect("no call", calls, 0);
      const { reason, message = "" } = world.condition(policyBindingType, "reader") ?? {};
      world.expect("the binding says so", reason, "PolicyNotGranted");
      world.expect("and what to do", /add pol-deploy to .* remove pol-deploy from/.test(message));
    },
  ),
  unready("a removed grant unbinds nothing if the connection says Never", async (world) => {
    const never = { withdrawalGracePeriod: "Never" };
    await world.begin({ policyIds: [READ], connection: { ...granting({}), ...never } });
    world.change(clusterConnectionType, "default", { ...never, grants: [] });
    await world.pass(HOUR);
    world.expect("bound as before", world.bound, [READ]);
    world.annotate(policyBindingType, "reader", { [annotations.reconcileRequestedAt]: "now" });
    await world.pass(MINUTE);
    const { reason, message = "" } = world.condition(policyBindingType, "reader") ?? {};
    world.expect("the binding says why", reason, "NotGranted");
    world.expect("and what is bound", message.includes(`Bound: ${READ}.`));
  }),
  unready("a namespace without a grant gets no account", async (world) => {
    await world.begin();
    createElsewhere(world, "team-b");
    await world.pass(5 * MINUTE);
    world.expect("one account", world.sim.console.world.accounts.size, 1);
  }),
  unready("a grant by labels holds for namespaces with these labels only", async (world) => {
    const namespaces = { selector: { matchLabels: { tier: "prod" } } };
    await world.begin({
      connection: {
        grants: [
          ...(granting({}).grants as Tree[]),
          { name: "prod", namespaces, policyIds: ["*"] },
        ],
      },
    });
    createElsewhere(world, "team-b", { tier: "test" });
    createElsewhere(world, "team-c", { tier: "prod" });
    await world.pass(5 * MINUTE);
    world.expect("two accounts", world.sim.console.world.accounts.size, 2);
  }),
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
  unready("a policy that is not granted leaves those of others alone", async (world) => {
    await world.begin({
      account: { foreignPolicies: "Remove" },
      connection: granting({ policyIds: [READ] }),
      policyIds: [DEPLOY],
    });
    bindInConsole(world, [MEMBER]);
    await world.pass(HOUR);
    world.expect("bound as before", world.bound, [MEMBER]);
  }),
  unready(
    "of an imported account nothing is unbound while its policies cannot be read",
    async (world) => {
      const { saId, tpn } = createInConsole(world);
      await world.begin({
        account: { saId },
        connection: granting({ importServiceAccounts: true, retainPolicies: true }),
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
  ),
  unready(
    "the policies of an imported account are not replaced while they cannot be read",
    async (world) => {
      const { saId, tpn } = createInConsole(world);
      await world.begin({
        account: { saId },
        connection: granting({ importServiceAccounts: true }),
        policyIds: [READ],
      });
      await world.pass(2 * MINUTE);
      world.expect("they stay", world.boundTo(tpn), [MEMBER]);
      world.expect("it says why", reasonOf(world), "BindingsUnreadable");
      world.expect("nothing is on record", recordOf(world), {});
      world.expect("read once", world.calls("listBindings"), 1);
    },
    { console: { shapes: { bindings: "unreadable" } } },
  ),
  unready(
    "the policies of a created account are written once while they cannot be read, and nothing is said to be bound",
    async (world) => {
      await world.begin({ policyIds: [READ] });
      await world.pass(25 * MINUTE);
      world.expect("one call", world.calls("syncBindings"), 1);
      const { status, reason } = world.condition(policyBindingType, "reader") ?? {};
      world.expect("not known", [status, reason], ["Unknown", "SyncUnconfirmed"]);
      world.expect("few reads", world.calls("listBindings") <= 10);
    },
    { console: { shapes: { bindings: "unreadable" } } },
  ),
  story("a failed read is no reason to write", async (world) => {
    world.fault("listBindings", { kind: "Refuse", status: 503 }, 3);
    await world.begin({ policyIds: [READ] });
    const [first] = world.sim.journal.calls.filter(({ operation }) => operation === "syncBindings");
    const read = world.sim.journal.calls.find(
      ({ operation, outcome }) => operation === "listBindings" && outcome === "200",
    );
    world.expect("written after a read", Number(first?.sentAt) > Number(read?.sentAt));
    const reasons = world.reasons(policyBindingType, "reader");
    world.expect("it says so", reasons.includes("Unavailable"));
  }),
  story("a list that lacks the policies of others is not believed at once", async (world) => {
    await world.begin({ policyIds: [READ] });
    bindInConsole(world, [READ, MEMBER]);
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
      // Whether policies are bound is unknown if the console does not show it.
      { console: { shapes: { bindings } }, endsReady: bindings === "bindings" },
    ),
  ),
  unready(
    "a PolicyBinding whose policies cannot be unbound stays until they are",
    async (world) => {
      await world.begin({ policyIds: [READ] });
      world.fault("syncBindings", { kind: "Refuse", status: 502 }, 2);
      world.sim.delete(policyBindingType, "reader");
      await world.pass(SECOND / 2);
      world.expect("it stays", reasonOf(world), "Unavailable");
      await world.pass(10 * SECOND);
      world.expect("it goes", world.sim.get(policyBindingType, "reader"), undefined);
      world.expect("nothing is bound", world.bound, []);
    },
  ),
  unready("access is revoked within two minutes after an outage", async (world) => {
    await world.begin({ policyIds: [READ] });
    const refused = { kind: "Refuse", status: 503 } as const;
    for (const call of ["login", "getServiceAccount", "listBindings", "syncBindings"])
      world.fault(call, refused, 10_000);
    world.change(serviceAccountType, ACCOUNT, { access: "Revoked" });
    await world.pass(30 * MINUTE);
    world.expect("it is still bound", world.bound, [READ]);
    world.cease();
    await world.pass(2 * MINUTE);
    world.expect("nothing is bound", world.bound, []);
  }),
  ...withdrawals.map(([what, withdraw, left]) =>
    unready(
      `policies are unbound within two minutes after an outage: ${what}`,
      async (world) => {
        await world.begin({ policyIds: [DEPLOY, READ] });
        const refused = { kind: "Refuse", status: 503 } as const;
        for (const call of ["getServiceAccount", "listBindings", "syncBindings"])
          world.fault(call, refused, 10_000);
        await world.pass(30 * MINUTE);
        withdraw(world);
        await world.pass(6 * MINUTE);
        world.expect("they are still bound", world.bound, [DEPLOY, READ]);
        world.cease();
        await world.pass(2 * MINUTE);
        world.expect("they are unbound", world.bound, left);
      },
      { excuses: ["S10 completeness", "S11 S20 releases"] },
    ),
  ),
  unready("a rejected revocation is not repeated when its account is written", async (world) => {
    await world.begin({ policyIds: [READ] });
    world.fault("syncBindings", { kind: "Refuse", status: 403 }, 100);
    world.sim.delete(policyBindingType, "reader");
    await world.pass(2 * SECOND);
    const before = world.calls("syncBindings");
    const listed = () => world.sim.get(serviceAccountType, ACCOUNT)?.status;
    const old = JSON.stringify(listed());
    world.rotate("one");
    await world.pass(2 * MINUTE);
    world.expect("the account is written", JSON.stringify(listed()) !== old);
    world.expect("no call", world.calls("syncBindings") - before, 0);
  }),
  unready("a revocation that the console rejects is tried again within minutes", async (world) => {
    await world.begin({ policyIds: [READ] });
    world.fault("syncBindings", { kind: "Refuse", status: 403 });
    world.sim.delete(policyBindingType, "reader");
    await world.pass(2 * SECOND);
    world.expect("it stays", reasonOf(world), "PermissionDenied");
    await world.pass(5 * MINUTE);
    world.expect("few calls", world.calls("syncBindings") <= 3);
    world.expect("it goes", world.sim.get(policyBindingType, "reader"), undefined);
  }),
  ...(["Revoke", "Retain"] as const).map((deletionPolicy) =>
    unready(
      `a deleted PolicyBinding unbinds its policies while its account waits to be deleted: ${deletionPolicy}`,
      async (world) => {
        await world.begin({ policyIds: [READ], account: { deletionPolicy } });
        world.sim.delete(serviceAccountType, ACCOUNT);
        await world.pass(SECOND);
        world.sim.delete(policyBindingType, "reader");
        await world.pass(5 * SECOND);
        world.expect("it goes", world.sim.get(policyBindingType, "reader"), undefined);
        world.expect("nothing is bound", world.bound, []);
        world.expect("nothing is on record", recorded(world), []);
        world.expect("the key keeps its account", world.live.length, 1);
      },
    ),
  ),
  unready(
    "a deleted PolicyBinding of an account that was removed by force says what it leaves",
    async (world) => {
      await world.begin({ policyIds: [READ] });
      world.happens({ kind: "RemoveFinalizers", plural: "serviceaccounts" });
      world.happens({ kind: "DeleteObject", plural: "serviceaccounts" });
      world.sim.delete(policyBindingType, "reader");
      await world.pass(MINUTE);
      world.expect("it goes", world.sim.get(policyBindingType, "reader"), undefined);
      const told = world.events("reader").join(" ");
      world.expect("an event", told.includes("PoliciesNotRevoked"));
    },
  ),
  ...["", ", and is suspended,"].map((suspended) =>
    unready(
      `a deleted PolicyBinding of an account that is gone from the console${suspended} goes`,
      async (world) => {
        await world.begin({ policyIds: [READ] });
        world.sim.delete(apiKeyType, "ci");
        await world.pass(MINUTE);
        const console = world.sim.console.world;
        for (const { saId } of [...console.accounts.values()]) console.deleteAccount(saId);
        await world.pass(15 * MINUTE);
        const { reason } = world.condition(serviceAccountType, ACCOUNT) ?? {};
        world.expect("it is known to be gone", reason, "ServiceAccountGone");
        const isSuspended = suspended !== "";
        if (isSuspended) world.change(serviceAccountType, ACCOUNT, { suspend: true });
        await world.pass(MINUTE);
        const before = world.calls("syncBindings");
        world.sim.delete(policyBindingType, "reader");
        await world.pass(5 * SECOND);
        world.expect("it goes", world.sim.get(policyBindingType, "reader"), undefined);
        world.expect("no call", world.calls("syncBindings"), before);
        world.sim.delete(serviceAccountType, ACCOUNT);
        await world.pass(10 * MINUTE);
        const isLeft = world.sim.get(serviceAccountType, ACCOUNT) !== undefined;
        world.expect("the account's object waits for its own suspension", isLeft, isSuspended);
        if (isSuspended) world.change(serviceAccountType, ACCOUNT, { suspend: false });
      },
    ),
  ),
  unready(
    "policies of a PolicyBinding that was deleted while its account seemed to be gone are unbound later",
    async (world) => {
      await world.begin({ policyIds: [READ] });
      for (const operation of ["getServiceAccount", "listServiceAccounts"])
        world.fault(operation, { kind: "Behind", ms: HOUR }, 10_000);
      world.annotate(serviceAccountType, ACCOUNT, { [annotations.reconcileRequestedAt]: "now" });
      await world.pass(10 * SECOND);
      const { reason } = world.condition(serviceAccountType, ACCOUNT) ?? {};
      world.expect("it seems to be gone", reason, "ServiceAccountGone");
      world.sim.delete(policyBindingType, "reader");
      await world.pass(10 * SECOND);
      world.expect("it goes", world.sim.get(policyBindingType, "reader"), undefined);
      world.expect("its policy is bound", world.bound, [READ]);
      world.cease();
      await world.pass(15 * MINUTE);
      world.expect("it is unbound", world.bound, []);
    },
  ),
  unready(
    "an operator that comes a day late revokes before it gives up",
    async (world) => {
      await world.begin({ policyIds: [READ] });
      world.happens({ kind: "PauseLeader", ms: 25 * HOUR });
      world.sim.delete(policyBindingType, "reader");
      await world.pass(25 * HOUR);
      world.happens({ kind: "Kill" });
      await world.pass(MINUTE);
      world.expect("it goes", world.sim.get(policyBindingType, "reader"), undefined);
      world.expect("nothing is bound", world.bound, []);
      const told = world.events("reader").join(" ");
      world.expect("nothing is given up", told.includes("PoliciesNotRevoked"), false);
    },
    { excuses: ["L6 deletion", "L8 news"] },
  ),
  story("drift is corrected within ten minutes, told and counted", async (world) => {
    await world.begin({ policyIds: [READ] });
    bindInConsole(world, []);
    world.fault("syncBindings", { kind: "Refuse", status: 502 });
    await world.pass(10 * MINUTE + 5 * SECOND);
    world.expect("bound again, after a failed call", world.bound, [READ]);
    const told = [...world.events("reader"), ...world.events(ACCOUNT)].join(" ");
    world.expect("an event", told.includes("DriftCorrected"));
    const metrics = await world.sim.scrape();
    world.expect("counted", metrics.includes("iam_operator_drift_corrections_total 1"));
  }),
  ...[serviceAccountType, policyBindingType].map((type) =>
    story(`drift is corrected at once on request at the ${type.kind}`, async (world) => {
      await world.begin({ policyIds: [READ] });
      await world.pass(MINUTE);
      bindInConsole(world, []);
      const name = type === serviceAccountType ? ACCOUNT : "reader";
      world.annotate(type as ResourceType, name, { [annotations.reconcileRequestedAt]: "now" });
      await world.pass(2 * SECOND);
      world.expect("bound again", world.bound, [READ]);
      const times = [recordOf(world), bindingStatus(world)].map((each) => each.lastSyncTime);
      world.expect(
        "its time is told",
        times.map((each) => ageMs(world, each) < 3 * SECOND),
        [true, true],
      );
      const { status } = world.sim.get(type as ResourceType, name) ?? {};
      const { lastHandledReconcileAt } = status as { lastHandledReconcileAt?: string };
      world.expect("the request is answered", lastHandledReconcileAt, "now");
      const before = world.calls("listBindings");
      await world.pass(30 * SECOND);
      world.expect("once", world.calls("listBindings"), before);
    }),
  ),
  story("an account that has had a PolicyBinding is still read", async (world) => {
    await world.begin({ policyIds: [READ], connection: granting({ retainPolicies: true }) });
    world.change(policyBindingType, "reader", { deletionPolicy: "Retain" });
    world.change(serviceAccountType, ACCOUNT, { suspend: true });
    await world.pass(MINUTE);
    world.sim.delete(policyBindingType, "reader");
    await world.pass(MINUTE);
    world.change(serviceAccountType, ACCOUNT, { suspend: false });
    await world.pass(MINUTE);
    world.expect("what it left", recorded(world, "Abandoned"), [READ]);
    bindInConsole(world, [MEMBER]);
    await world.pass(11 * MINUTE);
    world.expect("what is bound", recorded(world), [MEMBER]);
  }),
  story("a policy that an administrator binds later is reported and kept", async (world) => {
    await world.begin({ policyIds: [READ] });
    bindInConsole(world, [READ, MEMBER]);
    await world.pass(11 * MINUTE);
    world.expect("it is kept", world.bound, [MEMBER, READ]);
    world.expect("it is on record", recorded(world, "Foreign"), [MEMBER]);
    const told = [...world.events("reader"), ...world.events(ACCOUNT)].join(" ");
    world.expect("an event", told.includes("ForeignPoliciesFound"));
    world.expect("nothing is written", world.calls("syncBindings"), 1);
  }),
  unready(
    "a suspended PolicyBinding whose policies are bound is Ready, even if its account is not",
    async (world) => {
      await world.begin({ policyIds: [READ] });
      world.change(policyBindingType, "reader", { suspend: true });
      await world.pass(SECOND);
      const ready = () => {
        const { status, reason } = world.condition(policyBindingType, "reader") ?? {};
        return [status, reason];
      };
      world.expect("Ready", ready(), ["True", "Suspended"]);
      world.change(clusterConnectionType, "default", { suspend: true });
      await world.pass(MINUTE);
      world.expect("still Ready", ready(), ["True", "Suspended"]);
      const stalled = world.condition(policyBindingType, "reader", "Stalled");
      world.expect("no person has to act", stalled, undefined);
    },
  ),
  unready("a fight over policies ends after a while", async (world) => {
    await world.begin({ policyIds: [READ, DEPLOY] });
    for (let minute = 0; minute < 50; minute += 1) {
      bindInConsole(world, [READ]);
      await world.pass(MINUTE);
    }
    world.expect("few corrections", world.calls("syncBindings") <= 7);
  }),
  ...(["Keep", "Remove"] as const).map((foreignPolicies) =>
    unready(
      `a fight over policies is told, also after a restart (${foreignPolicies})`,
      async (world) => {
        await world.begin({ policyIds: [READ], account: { foreignPolicies } });
        const ask = async (token: string) => {
          world.annotate(policyBindingType, "reader", {
            [annotations.reconcileRequestedAt]: token,
          });
          await world.pass(10 * SECOND);
        };
        for (let round = 0; round < 6; round += 1) {
          bindInConsole(world, [MEMBER]);
          await ask(`round ${round}`);
        }
        const expectTold = (when: string) => {
          world.expect(`nothing is bound ${when}`, world.bound, [MEMBER]);
          world.expect(`the reason ${when}`, reasonOf(world), "Contended");
          const told = [bindingStatus(world).policyCount, recordOf(world).policyCount];
          world.expect(`the numbers ${when}`, told, [0, 1]);
          const policies = listAt(recordOf(world), "policies") as readonly Tree[];
          const missing = policies.filter((each) => each.missing === true);
          world.expect(
            `what is missing ${when}`,
            missing.map((each) => each.policyId),
            [READ],
          );
        };
        expectTold("at first");
        for (const token of ["once more", "and again", "and again and again"]) {
          await ask(token);
          expectTold(token);
        }
        world.happens({ kind: "Kill" });
        await world.pass(MINUTE);
        expectTold("after a restart");
        world.change(serviceAccountType, ACCOUNT, { description: "new" });
        await world.pass(10 * SECOND);
        expectTold("after another change");
        await world.pass(HOUR);
        const corrected = foreignPolicies === "Keep" ? [MEMBER, READ] : [READ];
        world.expect("it is corrected", world.bound, corrected);
        world.expect(
          "and told",
          [reasonOf(world), recordOf(world).contendedUntil],
          ["Synced", undefined],
        );
      },
    ),
  ),
  unready("more policies than a status can name are not bound", async (world) => {
    await world.begin({ policyIds: [READ] });
    const console = world.sim.console.world;
    const [policy] = [...console.policies.values()];
    const theirs = Array.from({ length: 1_000 }, (_, index) => `pol-${index}`);
    for (const policyId of theirs) console.putPolicy({ ...(policy as Policy), policyId });
    bindInConsole(world, [READ, ...theirs]);
    world.change(policyBindingType, "reader", { policyIds: [READ, DEPLOY] });
    await world.pass(10 * MINUTE);
    world.expect("nothing more is bound", world.bound.includes(DEPLOY), false);
  }),
  ...[
    ["pol-unknown", /pol-unknown/],
    ["pol-scp-guardrail", /kind scp/],
  ].map(([policyId, words]) =>
    unready(
      `a policy that the console rejects is not on record, and stalls no other binding: ${policyId}`,
      async (world) => {
        await world.begin({ policyIds: [READ] });
        createBinding(world.sim, "second", [String(policyId)]);
        await world.pass(5 * SECOND);
        world.expect("the other one is bound", world.bound, [READ]);
        world.expect("and Ready", reasonOf(world), "Synced");
        const { status } = world.sim.get(policyBindingType, "second") as { status: Tree };
        world.expect("nothing is on record", status.appliedPolicyIds ?? [], []);
        world.expect("the object says why", reasonOf(world, "second"), "PolicyRefused");
        const { message = "" } = world.condition(policyBindingType, "second") ?? {};
        world.expect("in the console's words", new RegExp(words ?? "").test(message));
        const before = world.calls("syncBindings");
        await world.pass(11 * MINUTE);
        world.expect("it is not tried again", world.calls("syncBindings"), before);
      },
    ),
  ),
  unready(
    "if the console's list of policies cannot be read, bindings are tried one by one",
    async (world) => {
      world.fault("listPolicies", { kind: "Refuse", status: 403 }, 10_000);
      await world.begin({ policyIds: [READ] });
      createBinding(world.sim, "second", ["pol-scp-guardrail"]);
      createBinding(world.sim, "third", [DEPLOY]);
      await world.pass(2 * MINUTE);
      world.expect("the others are bound", world.bound, [DEPLOY, READ]);
      const reasons = ["reader", "second", "third"].map((name) => reasonOf(world, name));
      world.expect("each says its own", reasons, ["Synced", "PolicyRefused", "Synced"]);
    },
  ),
  unready(
    "an invalid spec stalls its own object only",
    async (world) => {
      await world.begin({ policyIds: [READ] });
      createBinding(world.sim, "second", []);
      await world.pass(5 * SECOND);
      world.expect("it says so", reasonOf(world, "second"), "InvalidSpec");
      world.expect("the other one is Ready", reasonOf(world), "Synced");
    },
    // The message starts with the field.
    { excuses: ["readable message"] },
  ),
  unready(
    "a policy that was left bound goes with its grant",
    async (world) => {
      await world.begin({ connection: granting({ retainPolicies: true }), policyIds: [READ] });
      world.change(policyBindingType, "reader", { deletionPolicy: "Retain" });
      world.sim.delete(policyBindingType, "reader");
      await world.pass(2 * MINUTE);
      world.expect("it is left bound", world.bound, [READ]);
      world.happens({ kind: "Kill" });
      world.change(clusterConnectionType, "default", granting({ policyIds: [DEPLOY] }));
      await world.pass(2 * MINUTE);
      world.expect("then it is unbound", world.bound, []);
    },
    { excuses: ["S11 S20 releases"] },
  ),
  unready(
    "each PolicyBinding that goes tells what stays bound, even if the next one cannot go",
    async (world) => {
      await world.begin({ connection: granting({ retainPolicies: true }), policyIds: [READ] });
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
  ),
  story("a suspended PolicyBinding keeps what it has bound, and binds nothing", async (world) => {
    await world.begin({ policyIds: [READ] });
    world.change(policyBindingType, "reader", { suspend: true, policyIds: [READ, DEPLOY] });
    await world.pass(MINUTE);
    world.expect("it says so", reasonOf(world), "Suspended");
    const { status } = world.condition(policyBindingType, "reader", "Stalled") ?? {};
    world.expect("a person has to act", status, "True");
    createBinding(world.sim, "second", [MEMBER]);
    await world.pass(MINUTE);
    world.expect("only the second one's is new", world.bound, [MEMBER, READ]);
    world.change(policyBindingType, "reader", { suspend: false });
    await world.pass(MINUTE);
    world.expect("then all are bound", world.bound, [DEPLOY, MEMBER, READ]);
  }),
  story("access that is suspended comes back", async (world) => {
    await world.begin({ policyIds: [READ] });
    await revokeAndGrant(world, [READ]);
  }),
  story("bindings whose objects vanished without a word are still reported", async (world) => {
    await world.begin({ policyIds: [READ], account: { foreignPolicies: "Remove" } });
    world.happens({ kind: "RemoveFinalizers", plural: "policybindings" });
    world.happens({ kind: "DeleteObject", plural: "policybindings" });
    await world.pass(2 * HOUR);
    world.expect("nothing is unbound without a word", world.bound, [READ]);
  }),
  story(
    "a PolicyBinding that is only planned for answers a request, and binds nothing",
    async (world) => {
      await world.begin({ policyIds: [READ] });
      const planOnly = {
        [annotations.planOnly]: "true",
        [annotations.reconcileRequestedAt]: "now",
      };
      world.sim.create(policyBindingType, {
        metadata: { ...inNamespace("second"), annotations: planOnly },
        spec: { serviceAccountRef: { name: ACCOUNT }, policyIds: [MEMBER] },
      });
      await world.pass(5 * SECOND);
      world.expect("it says so", reasonOf(world, "second"), "PlanOnly");
      const status = treeAt(world.sim.get(policyBindingType, "second") ?? {}, "status");
      world.expect("the request is answered", status.lastHandledReconcileAt, "now");
      world.expect("one call is planned", listAt(treeAt(status, "plan"), "calls").length, 1);
      world.expect("nothing is bound", world.bound, [READ]);
      world.annotate(policyBindingType, "second", { [annotations.planOnly]: null });
      await world.pass(5 * SECOND);
      world.expect("then it is", world.bound, [MEMBER, READ]);
    },
  ),
  ...Object.entries(unusableAccounts).map(([what, { spoil, reason }]) =>
    unready(`a request about a PolicyBinding is answered if its account ${what}`, async (world) => {
      await world.begin({ policyIds: [READ] });
      spoil(world);
      await world.pass(10 * MINUTE);
      world.expect("it says why", reasonOf(world), reason);
      const calls = world.calls("listBindings") + world.calls("syncBindings");
      world.annotate(policyBindingType, "reader", { [annotations.reconcileRequestedAt]: "now" });
      await world.pass(5 * SECOND);
      const status = treeAt(world.sim.get(policyBindingType, "reader") ?? {}, "status");
      world.expect("answered", status.lastHandledReconcileAt, "now");
      const after = world.calls("listBindings") + world.calls("syncBindings");
      world.expect("without a call", after, calls);
    }),
  ),
  story("a PolicyBinding with a large status is bound, and loses an old plan", async (world) => {
    await world.begin({ policyIds: [READ] });
    const message = "x".repeat(1_000);
    const calls = Array.from({ length: 20 }, () => ({
      call: "syncBindings",
      object: "a",
      message,
    }));
    const status = { plan: { calls } };
    world.sim.meddle(() => world.sim.patch(policyBindingType, "reader", { status }, "status"));
    world.change(policyBindingType, "reader", { policyIds: [DEPLOY] });
    await world.pass(5 * SECOND);
    world.expect("it is bound", world.bound, [DEPLOY]);
    const { plan } = treeAt(world.sim.get(policyBindingType, "reader") ?? {}, "status");
    world.expect("the plan is gone", plan, undefined);
  }),
  unready(
    "a plan for everything changes nothing",
    async (world) => {
      await world.begin();
      world.expect("no account", world.calls("createServiceAccount"), 0);
      world.expect("no key", world.issued, 0);
      world.expect("no policy", world.calls("syncBindings"), 0);
    },
    { flags: ["--leader-elect=false", "--read-only"] },
  ),
];
