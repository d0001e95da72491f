/** Service accounts: which account is the object's own, what a namespace may have, and what a deletion leaves. */
import { recordedPolicies } from "../../../src/accounts/recorded-policies.ts";
import { FINALIZER } from "../../../src/api/meta.ts";
import {
  apiKeyType,
  clusterConnectionType,
  policyBindingType,
  serviceAccountType,
} from "../../../src/resources/resource-types.ts";
import { HOUR, MINUTE, SECOND } from "../../../src/util/time.ts";
import type { Tree } from "../../api-server/tree.ts";
import { SEEDED } from "../../iam-server/seed.ts";
import type { AccountRecord } from "../../iam-server/world.ts";
import { accountsOf } from "../invariants/view.ts";
import { ACCOUNT, createBinding, inNamespace, MEMBER, READ } from "../scenarios.ts";
import { createInConsole, granting } from "./in-console.ts";
import { type Story, type StoryWorld, story, unready } from "./story.ts";

const { otherOrgId, otherProjectId } = SEEDED;
const refused = (status: number) => ({ kind: "Refuse", status }) as const;

function createAccount(world: StoryWorld, name: string, spec: Tree): void {
  world.sim.create(serviceAccountType, { metadata: inNamespace(name), spec });
}

function boundTo(world: StoryWorld, { tpn }: AccountRecord): readonly string[] {
  return world.sim.console.world.boundTo(tpn);
}

function isThere(world: StoryWorld, name = ACCOUNT): boolean {
  return world.sim.get(serviceAccountType, name) !== undefined;
}

function isReady(world: StoryWorld, name = ACCOUNT): boolean {
  return world.condition(serviceAccountType, name)?.status === "True";
}

function accountNamed(world: StoryWorld, name: string): AccountRecord | undefined {
  return [...world.sim.console.world.accounts.values()].find((each) => each.name === name);
}

/** An account of the object's name that says that it was made for another one. */
function createNamesake(world: StoryWorld): AccountRecord {
  const description = "k8s team-x/their-bot#0123abcd-1";
  return createInConsole(world, { name: `team-a-${ACCOUNT}`, description });
}

/** An account of the object's name that another cluster's operator created for an object of the same name. */
function createTwin(world: StoryWorld): AccountRecord {
  const description = `k8s@blue team-a/${ACCOUNT}#0123abcd-1`;
  return createInConsole(world, { name: `team-a-${ACCOUNT}`, description });
}

const inCluster = (name: string) => ["--leader-elect=false", `--cluster-name=${name}`];

/** The next process has another name for the cluster. */
function rename(world: StoryWorld, name: string): void {
  world.sim.flags = inCluster(name);
  world.happens({ kind: "Kill" });
}

/** Edits the status of an object so that it names an account. */
function nameInStatus(world: StoryWorld, { saId, tpn }: AccountRecord, name = ACCOUNT): void {
  world.sim.meddle(() =>
    world.sim.patch(serviceAccountType, name, { status: { saId, tpn } }, "status"),
  );
}

/** The account alone, so that nothing uses it. */
async function beginAlone(world: StoryWorld, account: Tree, connection: Tree = {}): Promise<void> {
  await world.begin({ account, connection, policyIds: [READ] });
  world.sim.delete(apiKeyType, "ci");
  world.sim.delete(policyBindingType, "reader");
  await world.pass(2 * MINUTE);
}

export const accountStories: readonly Story[] = [
  unready(
    "of two objects with one name that are created together, one gets the account",
    async (world) => {
      await world.begin();
      world.fault("createServiceAccount", { kind: "Slow", ms: 3 * SECOND });
      createAccount(world, "one", { name: "shared" });
      createAccount(world, "two", { name: "shared" });
      await world.pass(MINUTE);
      const named = [...world.sim.console.world.accounts.values()].filter(
        ({ name }) => name === "shared",
      );
      world.expect("one account is created", named.length, 1);
      const reasons = ["one", "two"].map(
        (name) => world.condition(serviceAccountType, name)?.reason,
      );
      world.expect("one has it", reasons.toSorted(), ["AccountExists", "Created"]);
    },
  ),
  unready(
    "of two objects that import one account together, one has it within seconds",
    async (world) => {
      await world.begin({ connection: granting({ importServiceAccounts: true }) });
      // Of objects of one second, the IDs decide.
      const pairs = Array.from({ length: 6 }, (_, index) => [`one-${index}`, `two-${index}`]);
      for (const [name = "", ...others] of pairs) {
        const { saId } = createInConsole(world, { name });
        for (const each of [name, ...others]) createAccount(world, each, { saId });
      }
      await world.pass(10 * SECOND);
      const reasons = pairs.map((names) =>
        names.map((name) => world.condition(serviceAccountType, name)?.reason).toSorted(),
      );
      for (const found of reasons)
        world.expect("one has it", found, ["AlreadyClaimed", "Imported"]);
    },
  ),
  unready("a namespace gets no account beyond its grant", async (world) => {
    await world.begin();
    createAccount(world, "foreign-organization", { orgId: otherOrgId });
    createAccount(world, "foreign-project", { projectId: otherProjectId });
    createAccount(world, "imported", { saId: createInConsole(world).saId });
    createAccount(world, "suspended", { suspend: true });
    await world.pass(10 * MINUTE);
    const wanted = {
      "foreign-organization": "OrganizationMismatch",
      "foreign-project": "ProjectNotGranted",
      imported: "NotGranted",
      suspended: "Suspended",
    };
    for (const [name, reason] of Object.entries(wanted))
      world.expect(name, world.condition(serviceAccountType, name)?.reason, reason);
    world.expect("one account was created", world.calls("createServiceAccount"), 1);
  }),
  ...[undefined, 20].map((accountsPerPage) =>
    unready(
      `a grant's limit holds at a console that lists accounts in pages ${accountsPerPage === undefined ? "of unknown parameters" : "whose parameters the connection names"}`,
      async (world) => {
        for (let made = 1; made <= 25; made += 1) createInConsole(world, { name: `old-${made}` });
        await world.begin({ connection: granting({ maxServiceAccounts: 2 }), policyIds: [READ] });
        if (accountsPerPage === undefined) {
          const { reason, message = "" } = world.condition(serviceAccountType, ACCOUNT) ?? {};
          world.expect("it says why", reason, "AccountListUnreadable");
          world.expect("and what to set", message.includes("spec.accountListPages"));
          world.expect("none is created", world.calls("createServiceAccount"), 0);
          return;
        }
        createAccount(world, "second", {});
        await world.pass(MINUTE);
        world.sim.delete(serviceAccountType, "second");
        await world.pass(MINUTE);
        createAccount(world, "third", {});
        await world.pass(6 * MINUTE);
        world.expect("the first one is Ready", isReady(world));
        const reason = world.condition(serviceAccountType, "third")?.reason;
        world.expect("the deleted one counts", reason, "TooManyServiceAccounts");
        world.expect("two were created", world.calls("createServiceAccount"), 2);
      },
      accountsPerPage === undefined ? {} : { console: { accountsPerPage } },
    ),
  ),
  story(
    "an account of another cluster is left alone, and a prefix gives the object an account of its own",
    async (world) => {
      const theirs = createTwin(world);
      const bound = [...boundTo(world, theirs)];
      await world.begin({ policyIds: [READ] });
      const { reason, message = "" } = world.condition(serviceAccountType, ACCOUNT) ?? {};
      world.expect("it says why", reason, "AccountExists");
      world.expect("and whose it may be", message.includes("The description names cluster blue."));
      world.change(clusterConnectionType, "default", { accountNamePrefix: "green-" });
      await world.pass(2 * MINUTE);
      const own = accountNamed(world, `green-team-a-${ACCOUNT}`);
      world.expect("it has its own", own?.description.includes(`k8s@green team-a/${ACCOUNT}#`));
      world.expect("one was created", world.calls("createServiceAccount"), 1);
      const issued = [...world.sim.console.world.keys.values()].map((key) => key.description);
      world.expect(
        "so does its key",
        issued.map((each) => each.split("/")[0]),
        ["k8s@green team-a"],
      );
      world.expect("theirs is as it was", [...boundTo(world, theirs)], bound);
    },
    { flags: inCluster("green") },
  ),
  ...["green", ""].map((renamed) =>
    story(
      `an account and its key stay the object's own in a cluster that is renamed to ${renamed || "nothing"}`,
      async (world) => {
        await world.begin({ policyIds: [READ] });
        rename(world, renamed);
        await world.pass(2 * HOUR);
        world.expect("one account", world.calls("createServiceAccount"), 1);
        world.expect("one key", world.issued, 1);
        const managed = world.condition(serviceAccountType, ACCOUNT, "KeysManaged");
        world.expect("no key is unmanaged", managed?.reason, "NoUnmanagedKeys");
      },
      { flags: inCluster("blue") },
    ),
  ),
  story(
    "a creation that is unanswered while the cluster is renamed is not repeated",
    async (world) => {
      await world.begin();
      world.fault("createServiceAccount", { kind: "Reset", when: "AfterCommit" });
      createAccount(world, "second", {});
      await world.pass(2 * SECOND);
      rename(world, "green");
      await world.pass(5 * MINUTE);
      world.expect("two calls", world.calls("createServiceAccount"), 2);
      world.expect("it is found", isReady(world, "second"));
    },
    { flags: inCluster("blue") },
  ),
  story(
    "an account from before the cluster had a name is found again without a status",
    async (world) => {
      await world.begin();
      world.happens({ kind: "WipeStatus", plural: "serviceaccounts" });
      rename(world, "green");
      await world.pass(5 * MINUTE);
      world.expect("one call", world.calls("createServiceAccount"), 1);
      world.expect("it is found", isReady(world));
    },
  ),
  unready("imports count against the number of accounts", async (world) => {
    const grant = granting({ maxServiceAccounts: 1, importServiceAccounts: true });
    await world.begin({ connection: grant });
    createAccount(world, "imported", { saId: createInConsole(world).saId });
    await world.pass(5 * MINUTE);
    createAccount(world, "created", {});
    await world.pass(5 * MINUTE);
    for (const name of ["imported", "created"])
      world.expect(
        `${name} is one too many`,
        world.condition(serviceAccountType, name)?.reason,
        "TooManyServiceAccounts",
      );
  }),
  unready("an account that is imported twice belongs to the first object", async (world) => {
    const theirs = createInConsole(world);
    const spec = { saId: theirs.saId, deletionPolicy: "Revoke" };
    await world.begin({
      account: spec,
      connection: granting({ importServiceAccounts: true }),
      policyIds: [READ],
    });
    createAccount(world, "second", spec);
    await world.pass(5 * MINUTE);
    world.expect("the first one is Ready", isReady(world));
    world.expect(
      "the second one says why it is not",
      world.condition(serviceAccountType, "second")?.reason,
      "AlreadyClaimed",
    );
    // As from a backup.
    world.sim.patch(serviceAccountType, "second", { metadata: { finalizers: [FINALIZER] } });
    nameInStatus(world, theirs, "second");
    world.sim.delete(serviceAccountType, "second");
    await world.pass(15 * MINUTE);
    world.expect("its deletion leaves the account alone", [...boundTo(world, theirs)].sort(), [
      MEMBER,
      READ,
    ]);
    world.expect("and it goes", isThere(world, "second"), false);
  }),
  ...(["shown", "omitted"] as const).map((accountDescriptions) =>
    story(
      `an object whose status was edited has its own account again as advised, with descriptions ${accountDescriptions}`,
      async (world) => {
        await world.begin();
        const key = world.secret();
        const { saId = "" } = world.key().status?.current ?? {};
        nameInStatus(world, createInConsole(world));
        await world.pass(6 * MINUTE);
        const { message = "" } = world.condition(serviceAccountType, ACCOUNT) ?? {};
        const patch = { status: { saId: "CORRECT-ID" } };
        world.expect("what to do", message.includes(`-p '${JSON.stringify(patch)}'`));
        world.sim.meddle(() =>
          world.sim.patch(serviceAccountType, ACCOUNT, { status: { saId } }, "status"),
        );
        await world.pass(6 * MINUTE);
        world.expect("the object has it", isReady(world));
        world.expect("the key stays", world.secret(), key);
      },
      { console: { shapes: { accountDescriptions } } },
    ),
  ),
  unready("a tpn of another account is not believed", async (world) => {
    const theirs = createInConsole(world);
    const lie = (body: string) =>
      body.replace(/"tpn":"[^"]*"/, `"tpn":${JSON.stringify(theirs.tpn)}`);
    world.rewrite("createServiceAccount", lie, 201);
    world.rewrite("getServiceAccount", lie);
    await world.begin({ policyIds: [READ] });
    await world.pass(10 * MINUTE);
    world.expect("its policies stay", boundTo(world, theirs), [MEMBER]);
    world.expect("the object is not Ready", isReady(world), false);
  }),
  unready("an account that was made for another object is left alone", async (world) => {
    await beginAlone(world, {});
    const theirs = createNamesake(world);
    nameInStatus(world, theirs);
    await world.pass(6 * MINUTE);
    createBinding(world.sim, "reader", [READ]);
    await world.pass(15 * MINUTE);
    world.change(serviceAccountType, ACCOUNT, { access: "Revoked" });
    await world.pass(15 * MINUTE);
    world.expect("nothing is bound to it or unbound", boundTo(world, theirs), [MEMBER]);
    world.expect("the object is not Ready", isReady(world), false);
  }),
  unready(
    "an account that was made for another object is left alone while the console does not answer",
    async (world) => {
      await beginAlone(world, {});
      const theirs = createNamesake(world);
      nameInStatus(world, theirs);
      await world.pass(6 * MINUTE);
      world.fault("getServiceAccount", refused(503), 1_000);
      world.happens({ kind: "Kill" });
      await world.pass(MINUTE);
      const { reason } = world.condition(serviceAccountType, ACCOUNT) ?? {};
      world.expect("the finding stays", reason, "ServiceAccountMismatch");
      createBinding(world.sim, "reader", [READ]);
      await world.pass(MINUTE);
      world.expect("nothing is bound to it or unbound", boundTo(world, theirs), [MEMBER]);
    },
  ),
  unready("policies that were read of one account are not written to another", async (world) => {
    await beginAlone(world, {});
    const theirs = createNamesake(world);
    nameInStatus(world, theirs);
    createBinding(world.sim, "reader", [READ]);
    await world.pass(MINUTE);
    world.expect("its policy stays", boundTo(world, theirs).includes(MEMBER));
  }),
  story("an account that is disabled in the console is not Ready", async (world) => {
    await world.begin();
    const [account] = [...world.sim.console.world.accounts.values()];
    world.sim.setAccountStatusInConsole(account?.saId ?? "", "inactive");
    await world.pass(6 * MINUTE);
    world.expect("the object says so", isReady(world), false);
    world.sim.setAccountStatusInConsole(account?.saId ?? "", "active");
    await world.pass(2 * MINUTE);
  }),
  story("a creation that a gateway does late is not repeated", async (world) => {
    world.fault("createServiceAccount", { kind: "LateCommit", ms: 12 * SECOND, status: 504 });
    await world.begin();
    await world.expectReady();
    world.expect("one account", world.sim.console.world.accounts.size, 1);
  }),
  story("an account whose status could not be written is not lost", async (world) => {
    world.fault("listServiceAccounts", refused(403), 1_000);
    world.fault("createServiceAccount", { kind: "Slow", ms: 2 * SECOND });
    const begun = world.begin();
    await world.until(() => world.calls("createServiceAccount") === 1);
    world.fault("apply serviceaccounts/status", refused(500), 2);
    await begun;
    await world.pass(5 * MINUTE);
    world.expect("one account was created", world.calls("createServiceAccount"), 1);
    world.expect("the object has it", isReady(world));
  }),
  unready("no second account is made beside one of the same name", async (world) => {
    const theirs = createInConsole(world, { name: `team-a-${ACCOUNT}` });
    await world.begin();
    await world.pass(5 * MINUTE);
    world.expect("none was created", world.calls("createServiceAccount"), 0);
    world.expect("its policies stay", boundTo(world, theirs), [MEMBER]);
  }),
  story("an account of the same name in another project does not matter", async (world) => {
    createInConsole(world, { name: `team-a-${ACCOUNT}`, projectId: otherProjectId });
    await world.begin();
    await world.expectReady();
    world.expect("one was created", world.calls("createServiceAccount"), 1);
  }),
  unready("an account without a description is not taken from another object", async (world) => {
    world.rewrite("listServiceAccounts", (body) =>
      body.replaceAll(/"description":"[^"]*"/g, '"description":""'),
    );
    world.fault("createServiceAccount", { kind: "Silence", when: "BeforeCommit" });
    const begun = world.begin({ account: { name: "shared" } });
    await world.until(() => world.calls("createServiceAccount") === 1);
    createAccount(world, "second", { name: "shared" });
    await begun;
    await world.pass(5 * MINUTE);
    world.expect("the second one has it", isReady(world, "second"));
    world.expect("the first one does not", isReady(world), false);
  }),
  ...["Keep", "Remove"].map((foreignPolicies) =>
    unready(
      `an imported account without PolicyBindings shows what is bound to it (${foreignPolicies})`,
      async (world) => {
        const theirs = createInConsole(world);
        const grant = granting({ importServiceAccounts: true });
        await world.begin({ connection: grant });
        createAccount(world, "imported", { saId: theirs.saId, foreignPolicies });
        await world.pass(MINUTE);
        const shown = () =>
          recordedPolicies(
            accountsOf(world.sim).find(({ metadata }) => metadata.name === "imported")?.status
              ?.bindings,
            "Foreign",
          );
        world.expect("what is bound", shown(), [MEMBER]);
        const calls = () =>
          world.sim.journal.calls
            .filter(({ target }) => target?.startsWith("team-a/imported") === true)
            .map(({ operation }) => operation);
        const before = calls().length;
        world.sim.console.world.replaceBindings(theirs.tpn, [MEMBER, READ]);
        await world.pass(15 * MINUTE);
        world.expect("what was bound since", shown()?.toSorted(), [MEMBER, READ].toSorted());
        world.expect("nothing is unbound", boundTo(world, theirs)?.length, 2);
        const event = foreignPolicies === "Keep" ? ["create events"] : [];
        const written = ["apply serviceaccounts/status", ...event];
        world.expect("it was written once", calls().slice(before), written);
      },
    ),
  ),
  unready("an imported account is left as it was", async (world) => {
    const theirs = createInConsole(world);
    const grant = granting({ importServiceAccounts: true });
    await beginAlone(world, { saId: theirs.saId }, grant);
    world.change(serviceAccountType, ACCOUNT, { suspend: true });
    world.sim.delete(serviceAccountType, ACCOUNT);
    await world.pass(15 * MINUTE);
    world.expect("while suspended the object stays", isThere(world));
    world.change(serviceAccountType, ACCOUNT, { suspend: false });
    await world.pass(15 * MINUTE);
    world.expect("the object is gone", isThere(world), false);
    world.expect("its policies stay", boundTo(world, theirs), [MEMBER]);
  }),
  unready(
    "a created account is unbound from everything when its object is deleted",
    async (world) => {
      await beginAlone(world, {});
      const account = accountNamed(world, `team-a-${ACCOUNT}`) as AccountRecord;
      world.sim.console.world.replaceBindings(account.tpn, [MEMBER]);
      world.change(serviceAccountType, ACCOUNT, { suspend: true });
      world.sim.delete(serviceAccountType, ACCOUNT);
      await world.pass(15 * MINUTE);
      world.expect("while suspended it stays", isThere(world));
      world.expect("with its policies", boundTo(world, account), [MEMBER]);
      world.change(serviceAccountType, ACCOUNT, { suspend: false });
      await world.pass(15 * MINUTE);
      world.expect("then it goes", isThere(world), false);
      world.expect("and nothing is bound", boundTo(world, account), []);
    },
  ),
  unready("an account that is used is not deleted", async (world) => {
    await world.begin({ policyIds: [READ] });
    world.sim.delete(serviceAccountType, ACCOUNT);
    await world.pass(30 * MINUTE);
    world.expect("it stays", isThere(world));
    world.expect("the policies are bound", world.bound, [READ]);
    world.sim.delete(apiKeyType, "ci");
    world.sim.delete(policyBindingType, "reader");
    await world.pass(HOUR);
    world.expect("then it goes", isThere(world), false);
    world.expect("and nothing is bound", world.bound, []);
  }),
];
