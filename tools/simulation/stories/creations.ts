/** How an account in the console comes to be: created once, found again if a response or the status is lost. */
import { annotations } from "../../../src/api/meta.ts";
import { namespaceType } from "../../../src/kube/resource-types.ts";
import {
  apiKeyType,
  clusterConnectionType,
  policyBindingType,
  serviceAccountType,
} from "../../../src/resources/resource-types.ts";
import { HOUR, MINUTE, SECOND } from "../../../src/util/time.ts";
import { type Tree, treeAt } from "../../api-server/tree.ts";
import { SEEDED } from "../../iam-server/seed.ts";
import type { AccountRecord } from "../../iam-server/world.ts";
import { ACCOUNT, inNamespace } from "../scenarios.ts";
import { createInConsole, granting } from "./in-console.ts";
import { type Story, type StoryWorld, story, unready } from "./story.ts";

const refused = (status: number) => ({ kind: "Refuse", status }) as const;

function statusOf(world: StoryWorld, name = ACCOUNT): Tree {
  return treeAt(world.sim.get(serviceAccountType, name) ?? {}, "status");
}

function reasonOf(world: StoryWorld, name = ACCOUNT): string | undefined {
  return world.condition(serviceAccountType, name)?.reason;
}

function accountsOf(world: StoryWorld): readonly AccountRecord[] {
  return [...world.sim.console.world.accounts.values()];
}

function creations(world: StoryWorld): number {
  return world.calls("createServiceAccount");
}

function createAccount(world: StoryWorld, name: string, spec: Tree = {}): void {
  world.sim.create(serviceAccountType, { metadata: inNamespace(name), spec });
}

function setPrefix(world: StoryWorld, accountNamePrefix: string): void {
  world.change(clusterConnectionType, "default", { accountNamePrefix });
}

/** The counts that the statuses show of the account's policies. */
function counts(world: StoryWorld): readonly unknown[] {
  const bindings = treeAt(statusOf(world), "bindings");
  const binding = treeAt(world.sim.get(policyBindingType, "reader") ?? {}, "status");
  return [bindings.policyCount, binding.policyCount];
}

/** What is written to a ServiceAccount before the nth account is created. */
function writesBefore(world: StoryWorld, nth: number, name: string): readonly string[] {
  const { calls } = world.sim.journal;
  const creation = calls.filter(({ operation }) => operation === "createServiceAccount")[nth];
  return calls
    .slice(0, creation?.sequence)
    .filter(({ mutating, target }) => mutating && target === `team-a/${name}`)
    .map(({ operation }) => operation);
}

export const creationStories: readonly Story[] = [
  story(
    "an account that is suspended just before the status has the intent waits",
    async (world) => {
      await world.begin();
      world.fault("patch serviceaccounts", refused(422));
      world.fault("apply serviceaccounts/status", { kind: "Slow", ms: 2 * SECOND });
      createAccount(world, "second");
      await world.pass(SECOND);
      world.change(serviceAccountType, "second", { suspend: true });
      await world.pass(MINUTE);
      world.expect("it is not created", creations(world), 1);
      world.change(serviceAccountType, "second", { suspend: false });
    },
  ),
  story("a new account says where it comes from, and its object what it is", async (world) => {
    await world.begin({ account: { description: "builds" } });
    const [account] = accountsOf(world);
    const { saId, tpn, orgId, projectId, state, origin, attempt, keyCount } = statusOf(world);
    world.expect("what it is", [saId, tpn], [account?.saId, account?.tpn]);
    world.expect("where it is", [orgId, projectId], [SEEDED.orgId, SEEDED.projectId]);
    world.expect("how it is", [state, origin, attempt], ["active", "Created", undefined]);
    world.expect("its keys are not counted before they are listed", keyCount, undefined);
    await world.pass(MINUTE);
    world.expect("then they are", statusOf(world).keyCount, 1);
    const description = /^builds k8s team-a\/ci-bot#[0-9a-f]{8}-[0-9a-z]{12}$/;
    world.expect("its description", description.test(account?.description ?? ""));
    world.expect("one call", creations(world), 1);
    const events = world.events(ACCOUNT).join(" ");
    world.expect("an event", events.includes("Created"));
  }),
  story(
    "finalizer and intent are one write once the console shows a description of the operator's",
    async (world) => {
      createInConsole(world, { name: "by-hand", description: "" });
      await world.begin();
      createAccount(world, "second");
      await world.pass(5 * SECOND);
      const patch = "patch serviceaccounts";
      const status = "apply serviceaccounts/status";
      world.expect("first", writesBefore(world, 0, ACCOUNT), [patch, status]);
      world.expect("second", writesBefore(world, 1, "second"), [patch]);
      world.expect(
        "both are there",
        [reasonOf(world), reasonOf(world, "second")],
        ["Created", "Created"],
      );
    },
  ),
  story(
    "a creation of which only the annotation tells is found again by its description",
    async (world) => {
      await world.begin();
      world.fault("apply serviceaccounts/status", refused(500), 10_000);
      createAccount(world, "second");
      await world.pass(5 * SECOND);
      world.expect("no status tells of it", statusOf(world, "second").attempt, undefined);
      world.happens({ kind: "Kill" });
      world.cease();
      await world.pass(5 * MINUTE);
      world.expect("it is found", reasonOf(world, "second"), "Created");
      const { attempt, lastAttemptId } = statusOf(world, "second");
      world.expect("the attempt is closed", [attempt, typeof lastAttemptId], [undefined, "string"]);
      world.expect("two calls", creations(world), 2);
    },
  ),
  story("a creation whose response was lost is found, not repeated", async (world) => {
    world.fault("createServiceAccount", { kind: "Reset", when: "AfterCommit" });
    await world.begin();
    await world.pass(MINUTE);
    for (const reason of ["Unavailable", "CreateOutcomeUnknown", "Created"])
      world.expect(reason, world.reasons(serviceAccountType, ACCOUNT).includes(reason));
    world.expect("one call", creations(world), 1);
    const [account] = accountsOf(world);
    world.expect("the account is its own", statusOf(world).saId, account?.saId);
    world.expect("the attempt is closed", statusOf(world).attempt, undefined);
  }),
  ...(["shown", "omitted"] as const).flatMap((accountDescriptions) => {
    const console = { shapes: { accountDescriptions } };
    return [
      story(
        `a changed prefix is for new accounts, with descriptions ${accountDescriptions}`,
        async (world) => {
          await world.begin();
          createAccount(world, "named", { name: "robot" });
          setPrefix(world, "blue-");
          await world.pass(MINUTE);
          createAccount(world, "second");
          await world.pass(MINUTE);
          setPrefix(world, "green-");
          world.happens({ kind: "Kill" });
          await world.pass(2 * HOUR);
          const names = accountsOf(world).map(({ name }) => name);
          world.expect("names", names, [`team-a-${ACCOUNT}`, "robot", "blue-team-a-second"]);
          const recorded = [ACCOUNT, "named", "second"].map((each) => statusOf(world, each).name);
          world.expect("statuses", recorded, names);
          world.expect("no further one", statusOf(world).orphanedAccounts, undefined);
        },
        { console },
      ),
      story(
        `a prefix that changes while a creation is unanswered does not repeat it, with descriptions ${accountDescriptions}`,
        async (world) => {
          await world.begin();
          setPrefix(world, "blue-");
          await world.pass(MINUTE);
          world.fault("createServiceAccount", { kind: "Reset", when: "AfterCommit" });
          createAccount(world, "second");
          await world.pass(2 * SECOND);
          setPrefix(world, "green-");
          world.happens({ kind: "Kill" });
          await world.pass(5 * MINUTE);
          world.expect("two calls", creations(world), 2);
          world.expect("it is found", reasonOf(world, "second"), "Created");
          world.expect("its name", statusOf(world, "second").name, "blue-team-a-second");
        },
        { console },
      ),
    ];
  }),
  story(
    "an account is known by its description if the prefix changes and the status is lost",
    async (world) => {
      await world.begin();
      const { saId } = statusOf(world);
      setPrefix(world, "blue-");
      world.happens({ kind: "WipeStatus", plural: "serviceaccounts" });
      await world.pass(5 * MINUTE);
      world.expect("one call", creations(world), 1);
      const { saId: found, name } = statusOf(world);
      world.expect("the same account", [found, name], [saId, `team-a-${ACCOUNT}`]);
    },
  ),
  story("a creation that never took effect is made again", async (world) => {
    world.fault("createServiceAccount", refused(502));
    await world.begin();
    await world.pass(MINUTE);
    world.expect("it is there", reasonOf(world), "Created");
    world.expect("one account", accountsOf(world).length, 1);
  }),
  unready(
    "a creation that the console rejects closes its attempt and is for a person",
    async (world) => {
      world.fault("createServiceAccount", refused(422), 10);
      await world.begin();
      world.expect("it says so", reasonOf(world), "InvalidArgument");
      world.expect("the attempt is closed", statusOf(world).attempt, undefined);
      world.expect("few calls", creations(world) <= 2);
    },
  ),
  story("an account whose object has lost its status is found again", async (world) => {
    await world.begin();
    const { saId } = statusOf(world);
    world.happens({ kind: "WipeStatus", plural: "serviceaccounts" });
    await world.pass(MINUTE);
    world.expect("the same one", statusOf(world).saId, saId);
    world.expect("one account", accountsOf(world).length, 1);
  }),
  ...[true, false].map((importServiceAccounts) =>
    unready(
      `a taken name says how to import the account (permission granted: ${importServiceAccounts})`,
      async (world) => {
        await world.begin({
          account: { name: "bot" },
          connection: granting({ importServiceAccounts }),
        });
        createAccount(world, "second", { name: "bot" });
        await world.pass(5 * SECOND);
        const { message = "" } = world.condition(serviceAccountType, "second") ?? {};
        world.expect("how", message.includes("with spec.saId to import the account that exists"));
        const isNamed = message.includes("importServiceAccounts: true");
        world.expect("the permission", isNamed, !importServiceAccounts);
      },
    ),
  ),
  unready(
    "accounts of one name in two namespaces do not meet, unless the names read the same",
    async (world) => {
      const namespaces = { names: ["team-a", "team-a-b"] };
      await world.begin({ connection: granting({ namespaces }) });
      world.sim.create(namespaceType, { metadata: { name: "team-a-b" } });
      for (const name of [ACCOUNT, "c"])
        world.sim.create(serviceAccountType, {
          metadata: { name, namespace: "team-a-b" },
          spec: {},
        });
      await world.pass(5 * SECOND);
      createAccount(world, "b-c");
      await world.pass(5 * SECOND);
      world.expect("the second one waits", reasonOf(world, "b-c"), "AccountExists");
      const names = accountsOf(world).map(({ name }) => name);
      world.expect("one for each", names.toSorted(), [
        "team-a-b-c",
        "team-a-b-ci-bot",
        "team-a-ci-bot",
      ]);
    },
  ),
  unready("what changes in the console is seen on request", async (world) => {
    await world.begin();
    world.sim.delete(policyBindingType, "reader");
    world.sim.delete(apiKeyType, "ci");
    await world.pass(2 * MINUTE);
    const { saId = "" } = accountsOf(world)[0] ?? {};
    const { key } = world.sim.console.world.issueKey(saId, { description: "", expiresInDays: 1 });
    world.sim.setAccountStatusInConsole(saId, "inactive");
    world.annotate(serviceAccountType, ACCOUNT, { [annotations.reconcileRequestedAt]: "one" });
    await world.pass(2 * SECOND);
    world.expect("it says so", reasonOf(world), "ServiceAccountNotActive");
    const { lastHandledReconcileAt, liveKeyIds, keyCount } = statusOf(world);
    world.expect("the request is answered", lastHandledReconcileAt, "one");
    world.expect("the key is listed", (liveKeyIds as string[]).includes(key.keyId));
    world.expect("and counted", keyCount, 2);
  }),
  unready("an account that vanished from the console is not created again", async (world) => {
    await world.begin();
    world.sim.delete(apiKeyType, "ci");
    await world.pass(MINUTE);
    world.expect("its policies are counted", counts(world), [2, 2]);
    for (const { saId } of accountsOf(world)) world.sim.console.world.deleteAccount(saId);
    await world.pass(30 * MINUTE);
    world.expect("it says so", reasonOf(world), "ServiceAccountGone");
    world.expect("nothing is counted any more", counts(world), [undefined, undefined]);
    const { policies } = treeAt(statusOf(world), "bindings");
    world.expect("the policies stay on record", (policies as readonly Tree[]).length, 2);
    world.expect("none was created", [creations(world), accountsOf(world).length], [1, 0]);
  }),
  story("a list of all accounts that cannot be read is made again soon", async (world) => {
    world.rewrite("listServiceAccounts", () => '{"summary":"of an unknown form"}');
    await world.begin();
    await world.pass(22 * MINUTE);
    world.expect("with the creation, and later", world.calls("listServiceAccounts"), 2);
    const told = world.events(ACCOUNT).join(" ");
    world.expect("what is not known", told.includes("another account may have this name"));
    world.cease();
    await world.pass(20 * MINUTE);
    world.expect("a quarter of an hour later", world.calls("listServiceAccounts"), 3);
    await world.pass(2 * HOUR);
    world.expect("and then once a day", world.calls("listServiceAccounts"), 3);
  }),
  story("an account is looked for at another console before anything else", async (world) => {
    await world.begin();
    const { consoleURL } = statusOf(world);
    world.expect("where it was found", consoleURL, "https://console.example.com");
    world.fault("getServiceAccount", refused(404), 10_000);
    world.rewrite("listServiceAccounts", () =>
      JSON.stringify({ result: { serviceAccounts: [], pagination: { hasNext: false } } }),
    );
    world.change(clusterConnectionType, "default", { baseURL: "https://other.example.com" });
    await world.pass(MINUTE);
    world.expect("it is not there", reasonOf(world), "ServiceAccountGone");
    world.expect("where it was found last", statusOf(world).consoleURL, consoleURL);
    world.expect("none was created", creations(world), 1);
    world.cease();
    world.change(clusterConnectionType, "default", { baseURL: consoleURL });
    await world.pass(MINUTE);
    world.expect("it is found again", reasonOf(world), "Created");
  }),
];
