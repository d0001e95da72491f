/** Deletion: what is left, what is said about it, and what it waits for. */

import { secretType } from "../../../src/kube/resource-types.ts";
import {
  apiKeyType,
  clusterConnectionType,
  policyBindingType,
  serviceAccountType,
} from "../../../src/resources/resource-types.ts";
import { HOUR, MINUTE, SECOND } from "../../../src/util/time.ts";
import { SEEDED } from "../../iam-server/seed.ts";
import type { CallFault } from "../faults.ts";
import { extraCalls } from "../scenarios/console.ts";
import {
  ACCOUNT,
  createAll,
  createBinding,
  createKey,
  DEPLOY,
  MEMBER,
  READ,
  type SpecChanges,
} from "../scenarios.ts";
import { granting } from "./in-console.ts";
import { type Story, type StoryWorld, story, storyWith, unready } from "./story.ts";

const refused = (status: number) => ({ kind: "Refuse", status }) as const;
const deleting = {
  ...extraCalls,
  deleteServiceAccount: { method: "DELETE", path: "/api/v1/x/accounts/{saId}" },
} as const;
const withCalls = storyWith({ endsReady: false, console: { extraCalls } });

/** Nothing of the console answers for a while. */
function consoleDown(world: StoryWorld, calls = 10_000): void {
  for (const operation of [
    "login",
    "listServiceAccounts",
    "getServiceAccount",
    "searchActions",
    "listBindings",
    "syncBindings",
    "disableKey",
    "deleteKey",
  ])
    world.fault(operation, refused(503), calls);
}

/** The account was deleted, and the response says that there was none. */
const GONE: CallFault = { kind: "Answer", status: 404, body: () => "{}" };

/** Nothing uses the account any more. */
function deleteUsers(world: StoryWorld): void {
  world.sim.delete(apiKeyType, "ci");
  world.sim.delete(policyBindingType, "reader");
}

/** An account that nothing uses any more. */
async function beginUnused(world: StoryWorld, specChanges: SpecChanges = {}): Promise<void> {
  await world.begin(specChanges);
  deleteUsers(world);
  await world.pass(2 * MINUTE);
}

/** After that time, the ServiceAccount is gone, and an event says how. */
async function expectGone(world: StoryWorld, ms: number, said: string): Promise<void> {
  await world.pass(ms);
  world.expect("it is gone", world.sim.get(serviceAccountType, ACCOUNT), undefined);
  world.expect("it says so", isTold(world, said));
}

/** Whether an event about the account begins like this. */
function isTold(world: StoryWorld, start: string): boolean {
  return world.events(ACCOUNT).some((each) => each.startsWith(start));
}

function reasonsOf(world: StoryWorld): readonly string[] {
  return world.reasons(serviceAccountType, ACCOUNT);
}

export const endingStories: readonly Story[] = [
  unready("objects of an account that is gone, unnoticed, are deleted at once", async (world) => {
    await world.begin();
    const [account] = world.sim.console.world.accounts.values();
    world.sim.deleteAccountInConsole(account?.saId ?? "");
    world.sim.delete(apiKeyType, "ci");
    world.sim.delete(policyBindingType, "reader");
    await world.pass(3 * SECOND);
    world.sim.delete(serviceAccountType, ACCOUNT);
    await world.pass(2 * MINUTE);
    world.expect("the PolicyBinding", world.sim.get(policyBindingType, "reader"), undefined);
    world.expect("the account", world.sim.get(serviceAccountType, ACCOUNT), undefined);
    const told = world.events("reader").join(" ");
    world.expect("no policy is said to stay", told.includes("PoliciesNotRevoked"), false);
  }),
  unready("a deleted ApiKey names the keys that still work", async (world) => {
    await world.begin({ key: { rotation: { overlap: "1h" } } });
    world.rotate("one");
    await world.pass(2 * MINUTE);
    const keys = [...world.live];
    world.sim.delete(apiKeyType, "ci");
    await world.pass(5 * MINUTE);
    const told = world.events("ci").find((each) => each.startsWith("KeysNotRevoked")) ?? "";
    for (const keyId of keys) world.expect(`${keyId} is named`, told.includes(keyId));
    world.expect("the Secret is gone", world.sim.get(secretType, "ci"), undefined);
  }),
  withCalls(
    "a deleted ApiKey does not say that a key stays valid that it has deleted",
    async (world) => {
      await world.begin({ connection: { extraCalls: { deleteKey: extraCalls.deleteKey } } });
      const [keyId = ""] = world.live;
      world.sim.delete(apiKeyType, "ci");
      await world.pass(15 * MINUTE);
      world.expect("the ApiKey is gone", world.sim.get(apiKeyType, "ci"), undefined);
      world.expect("the key was deleted", world.live, []);
      const told = world.events("ci").join("\n");
      world.expect("nothing is said to stay", told.includes("KeysNotRevoked"), false);
      world.expect("the key is named", told.includes(keyId));
    },
  ),
  withCalls(
    "a deleted ApiKey's key is revoked within two minutes after an outage",
    async (world) => {
      await world.begin({ connection: { extraCalls } });
      consoleDown(world);
      world.sim.delete(apiKeyType, "ci");
      await world.pass(6 * MINUTE);
      world.expect("it is still valid", world.live.length, 1);
      world.cease();
      await world.pass(2 * MINUTE);
      world.expect("it is revoked", world.live, []);
    },
  ),
  ...(["Kill", "Stop"] as const).map((end) =>
    withCalls(
      `a restart (${end}) during an outage gives up no key of a deletion`,
      async (world) => {
        await world.begin({ connection: { extraCalls } });
        consoleDown(world);
        world.sim.delete(apiKeyType, "ci");
        await world.pass(2 * MINUTE);
        const blocked = world.condition(apiKeyType, "ci", "CleanupBlocked")?.lastTransitionTime;
        world.happens({ kind: end });
        await world.pass(5 * MINUTE);
        const { status, lastTransitionTime } =
          world.condition(apiKeyType, "ci", "CleanupBlocked") ?? {};
        world.expect("the deadline stays", [status, lastTransitionTime], ["True", blocked]);
        world.expect("the key is valid", world.live.length, 1);
        world.cease();
        await world.pass(2 * MINUTE);
        world.expect("then it is revoked", world.live, []);
        world.expect("and the ApiKey is gone", world.sim.get(apiKeyType, "ci"), undefined);
      },
    ),
  ),
  withCalls("a deletion waits for a suspended connection, up to its deadline", async (world) => {
    await world.begin({ connection: { extraCalls } });
    world.change(clusterConnectionType, "default", { suspend: true });
    await world.pass(MINUTE);
    world.sim.delete(apiKeyType, "ci");
    await world.pass(5 * MINUTE);
    const { reason } = world.condition(apiKeyType, "ci") ?? {};
    world.expect("it says so", reason, "ConnectionSuspended");
    await world.pass(25 * MINUTE);
    world.expect("the ApiKey is gone", world.sim.get(apiKeyType, "ci"), undefined);
    const isTold = world.events("ci").some((each) => each.startsWith("KeysNotRevoked"));
    world.expect("its key is named", isTold);
  }),
  unready("without a call for keys, a deletion does not wait for a connection", async (world) => {
    await world.begin();
    consoleDown(world);
    world.happens({ kind: "Kill" });
    await world.pass(MINUTE);
    world.sim.delete(apiKeyType, "ci");
    await world.pass(MINUTE);
    world.expect("the ApiKey is gone", world.sim.get(apiKeyType, "ci"), undefined);
  }),
  withCalls("a key is tried once more before its ApiKey is given up", async (world) => {
    await world.begin({ connection: { extraCalls } });
    consoleDown(world);
    world.sim.delete(apiKeyType, "ci");
    await world.pass(9 * MINUTE + 55 * SECOND);
    world.cease();
    await world.pass(2 * MINUTE);
    world.expect("it is revoked", world.live, []);
    world.expect("the ApiKey is gone", world.sim.get(apiKeyType, "ci"), undefined);
  }),
  withCalls(
    "a deleted ApiKey names the key that the console has refused to delete",
    async (world) => {
      await world.begin({ connection: { extraCalls: { deleteKey: extraCalls.deleteKey } } });
      const [keyId = ""] = world.live;
      world.fault("deleteKey", refused(422), 10_000);
      world.sim.delete(apiKeyType, "ci");
      await world.pass(25 * MINUTE);
      world.expect("the ApiKey is gone", world.sim.get(apiKeyType, "ci"), undefined);
      const told = world.events("ci").find((each) => each.startsWith("KeysNotRevoked")) ?? "";
      world.expect("it is named", told.includes(keyId));
    },
  ),
  unready("a deleted ApiKey names no key of an account that is gone", async (world) => {
    await world.begin();
    world.happens({ kind: "EndAccounts", how: "Delete" });
    await world.until(
      () => world.condition(serviceAccountType, ACCOUNT)?.reason === "ServiceAccountGone",
    );
    world.sim.delete(apiKeyType, "ci");
    await world.pass(5 * MINUTE);
    world.expect("the ApiKey is gone", world.sim.get(apiKeyType, "ci"), undefined);
    const isNamed = world.events("ci").some((each) => each.startsWith("KeysNotRevoked"));
    world.expect("no key is said to work", isNamed, false);
    world.sim.delete(policyBindingType, "reader");
    await world.pass(MINUTE);
    world.expect("the policies", world.sim.get(policyBindingType, "reader"), undefined);
    const said = world.events("reader").join(" ");
    world.expect("none is said to be bound", said.includes("PoliciesNotRevoked"), false);
  }),
  withCalls(
    "an ApiKey whose stored spec is not valid is deleted with its keys, or keeps them as it says",
    async (world) => {
      await world.begin({ connection: { extraCalls } });
      createKey(world.sim, "kept", { secret: { deletionPolicy: "Retain" } });
      await world.pass(MINUTE);
      const kept = world.key("kept").status?.current?.keyId;
      // Only the operator's own parser judges the names of entries.
      for (const name of ["ci", "kept"])
        world.change(apiKeyType, name, {
          secret: { data: { "no name": "x", secret: "${secret}" } },
        });
      await world.pass(5 * SECOND);
      const reason = world.condition(apiKeyType, "ci")?.reason;
      world.expect("it is not valid", reason, "InvalidSpec");
      for (const name of ["ci", "kept"]) world.sim.delete(apiKeyType, name);
      await world.pass(5 * MINUTE);
      world.expect("they are gone", [world.sim.get(apiKeyType, "ci")], [undefined]);
      world.expect("one key is left", world.live, [kept]);
    },
    { excuses: ["readable message"] },
  ),
  ...[true, false].map((isDown) =>
    unready(
      `a deleted namespace leaves beside the operator the names of all that stays in the console, which is ${isDown ? "down" : "up"}`,
      async (world) => {
        await world.begin({ key: { rotation: { overlap: "1h" } } });
        world.rotate("one");
        await world.pass(2 * MINUTE);
        if (isDown) consoleDown(world);
        world.happens({ kind: "DeleteNamespace" });
        await world.pass(45 * MINUTE);
        const { accounts } = world.sim.console.world;
        world.expect(
          "the ServiceAccount is gone",
          world.sim.get(serviceAccountType, ACCOUNT),
          undefined,
        );
        const told = world.events("iam-operator").join("\n");
        const stays = [...world.live, ...(isDown ? accounts.keys() : world.bound)];
        world.expect("something stays", stays.length >= 2);
        for (const id of stays) world.expect(`${id} is named: ${told}`, told.includes(id));
      },
      { flags: [] },
    ),
  ),
  unready("a deleted ApiKey that the watch still shows is not deleted again", async (world) => {
    world.strikeWatch("apikeys", { kind: "Late", ms: 20 * SECOND });
    await world.begin();
    await world.pass(2 * MINUTE);
    const before = world.calls("patch apikeys");
    world.sim.delete(apiKeyType, "ci");
    await world.pass(5 * MINUTE);
    world.expect("the finalizer was removed once", world.calls("patch apikeys") - before, 1);
  }),
  withCalls("a deleted ApiKey ends its keys, the one in use last", async (world) => {
    await world.begin({ connection: { extraCalls }, key: { rotation: { overlap: "1h" } } });
    world.rotate("one");
    await world.pass(2 * MINUTE);
    const keys = [...world.live];
    world.sim.delete(apiKeyType, "ci");
    await world.pass(15 * MINUTE);
    const over = world.sim.console.world.journal.flatMap((change) =>
      change.kind === "keyStatus" || change.kind === "keyDeleted" ? change.keyId : [],
    );
    world.expect("every key was ended", world.live, []);
    world.expect("in this order", [...new Set(over)], keys);
  }),
  withCalls("a deletion waits for a console that refuses to end a key", async (world) => {
    await world.begin({ connection: { extraCalls } });
    world.fault("disableKey", refused(422), 2);
    world.fault("deleteKey", refused(422), 2);
    world.sim.delete(apiKeyType, "ci");
    await world.pass(30 * MINUTE);
    world.expect("the key was ended", world.live, []);
    world.expect("the ApiKey is gone", world.sim.get(apiKeyType, "ci"), undefined);
  }),
  unready(
    "an attempt that the console never explained counts as a key that may be alive",
    async (world) => {
      world.fault("issueKey", { kind: "Reset", when: "AfterCommit" });
      world.sim.startOperator();
      createAll(world.sim);
      await world.until(() => world.calls("issueKey") === 1);
      consoleDown(world);
      await world.pass(SECOND);
      world.sim.delete(apiKeyType, "ci");
      await world.pass(25 * MINUTE);
      world.expect("the ApiKey is gone", world.sim.get(apiKeyType, "ci"), undefined);
      world.expect("it is told", world.events("ci").join().includes("a key of unknown id"));
    },
    { excuses: ["S5 accounting"] },
  ),
  withCalls("a deletion does not wait for ever for a console that is down", async (world) => {
    await world.begin({ connection: { extraCalls } });
    const [keyId = ""] = world.live;
    consoleDown(world);
    world.sim.delete(apiKeyType, "ci");
    await world.pass(25 * MINUTE);
    world.expect("the ApiKey is gone", world.sim.get(apiKeyType, "ci"), undefined);
    world.expect("the key is named", world.events("ci").join(" ").includes(keyId));
  }),
  ...([apiKeyType, policyBindingType, serviceAccountType] as const).map((type) =>
    withCalls(`the deadline of a deleted ${type.kind} outlasts its leader`, async (world) => {
      const name = { ApiKey: "ci", PolicyBinding: "reader" }[type.kind] ?? ACCOUNT;
      await world.begin({ connection: { extraCalls } });
      if (type === serviceAccountType) {
        deleteUsers(world);
        await world.pass(2 * MINUTE);
      }
      consoleDown(world);
      world.sim.delete(type, name);
      await world.pass(9 * MINUTE);
      world.expect("it waits", world.sim.get(type, name) !== undefined);
      world.happens({ kind: "Kill" });
      await world.pass(5 * MINUTE);
      world.expect("it is gone", world.sim.get(type, name), undefined);
      world.expect("what is left is told", /NotRevoked|Incomplete/.test(`${world.events(name)}`));
    }),
  ),
  ...[false, true].map((declaredAgain) =>
    story(
      `policies that an outage kept bound are unbound after it${declaredAgain ? ", unless they are declared again" : ""}`,
      async (world) => {
        await world.begin();
        createBinding(world.sim, "second", [MEMBER]);
        await world.pass(MINUTE);
        consoleDown(world);
        world.sim.delete(policyBindingType, "reader");
        await world.pass(15 * MINUTE);
        world.expect("it is gone", world.sim.get(policyBindingType, "reader"), undefined);
        world.expect("its policies are still bound", world.bound, [DEPLOY, MEMBER, READ]);
        world.happens({ kind: "Kill" });
        if (declaredAgain) createBinding(world.sim, "again", [READ]);
        world.cease();
        await world.pass(15 * MINUTE);
        world.expect("what is declared is bound", world.bound, [
          MEMBER,
          ...(declaredAgain ? [READ] : []),
        ]);
        const { bindings } = (world.sim.get(serviceAccountType, ACCOUNT)?.status ?? {}) as {
          readonly bindings?: object;
        };
        world.expect("nothing is left to unbind", Object.keys(bindings ?? {}), [
          "policies",
          "policyCount",
          "lastSyncTime",
        ]);
      },
    ),
  ),
  unready(
    "what an outage may have unbound is bound if it is declared again, though the console does not show it",
    async (world) => {
      await world.begin({ policyIds: [READ] });
      createBinding(world.sim, "second", [MEMBER]);
      await world.pass(MINUTE);
      world.fault("syncBindings", { kind: "Reset", when: "AfterCommit" }, 1_000);
      world.sim.delete(policyBindingType, "reader");
      await world.pass(15 * MINUTE);
      world.expect("it is gone", world.sim.get(policyBindingType, "reader"), undefined);
      world.expect("its policy is unbound", world.bound, [MEMBER]);
      createBinding(world.sim, "again", [READ]);
      world.cease();
      await world.pass(15 * MINUTE);
      world.expect("what is declared is bound", world.bound, [MEMBER, READ]);
    },
    { console: { shapes: { bindings: "unreadable" } } },
  ),
  unready("an account is unbound before its object goes", async (world) => {
    await world.begin();
    deleteUsers(world);
    world.sim.delete(serviceAccountType, ACCOUNT);
    await world.pass(10 * MINUTE);
    world.expect("nothing is bound", world.bound, []);
    world.expect("the object is gone", world.sim.get(serviceAccountType, ACCOUNT), undefined);
  }),
  unready("a deletion waits for the account's users, and names what it leaves", async (world) => {
    await world.begin();
    const { saId = "", tpn = "" } = [...world.sim.console.world.accounts.values()][0] ?? {};
    const [keyId = ""] = world.live;
    await world.pass(6 * MINUTE);
    world.sim.delete(serviceAccountType, ACCOUNT);
    await world.pass(SECOND);
    const { reason, message = "" } = world.condition(serviceAccountType, ACCOUNT) ?? {};
    world.expect("it waits", reason, "InUse");
    world.expect("for its ApiKey", message.includes("ApiKey ci"));
    deleteUsers(world);
    await world.pass(MINUTE);
    world.expect("it is gone", world.sim.get(serviceAccountType, ACCOUNT), undefined);
    world.expect(
      "what is left",
      world.events(ACCOUNT).find((each) => each.startsWith("Revoked")),
      `Revoked: Unbound every policy of service account ${saId} (${tpn}; keys when last listed: ${keyId}); the account itself stays in the console.`,
    );
  }),
  unready("a deletion names a key that no earlier list has shown", async (world) => {
    await world.begin();
    const { saId = "", tpn = "" } = [...world.sim.console.world.accounts.values()][0] ?? {};
    const [keyId = ""] = world.live;
    deleteUsers(world);
    world.sim.delete(serviceAccountType, ACCOUNT);
    await world.pass(MINUTE);
    world.expect(
      "what is left",
      world.events(ACCOUNT).find((each) => each.startsWith("Revoked")),
      `Revoked: Unbound every policy of service account ${saId} (${tpn}; keys when last listed: ${keyId}); the account itself stays in the console.`,
    );
  }),
  unready("an account that is left unread is not said to have no keys", async (world) => {
    const connection = granting({ retainPolicies: true });
    await world.begin({ account: { deletionPolicy: "Retain" }, connection });
    world.change(policyBindingType, "reader", { deletionPolicy: "Retain" });
    await world.pass(SECOND);
    deleteUsers(world);
    world.sim.delete(serviceAccountType, ACCOUNT);
    await world.pass(MINUTE);
    const [{ saId = "", tpn = "" } = {}] = [...world.sim.console.world.accounts.values()];
    world.expect(
      "what is left",
      world.events(ACCOUNT).find((each) => each.startsWith("Retained")),
      `Retained: Left service account ${saId} (${tpn}; it is not known whether it has keys) as it is.`,
    );
  }),
  unready("a deletion looks into an open attempt first", async (world) => {
    world.fault("createServiceAccount", { kind: "Reset", when: "AfterCommit" });
    const begun = world.begin();
    await world.until(() => reasonsOf(world).includes("Unavailable"));
    deleteUsers(world);
    world.sim.delete(serviceAccountType, ACCOUNT);
    await world.pass(2 * SECOND);
    world.expect("it waits", reasonsOf(world).includes("CreateOutcomeUnknown"));
    await begun;
    await expectGone(world, MINUTE, "Revoked: ");
  }),
  unready(
    "a deletion finds the account that its status has lost, even while it is in use",
    async (world) => {
      await world.begin();
      const [account] = [...world.sim.console.world.accounts.values()];
      world.sim.delete(serviceAccountType, ACCOUNT);
      world.happens({ kind: "WipeStatus", plural: "serviceaccounts" });
      await world.pass(5 * SECOND);
      const { status } = world.sim.get(serviceAccountType, ACCOUNT) ?? {};
      const { saId, origin } = status as { saId?: string; origin?: string };
      world.expect("it is found", [saId, origin], [account?.saId, "Created"]);
      world.expect("it waits", world.condition(serviceAccountType, ACCOUNT)?.reason, "InUse");
      world.happens({ kind: "WipeStatus", plural: "serviceaccounts" });
      deleteUsers(world);
      await world.pass(MINUTE);
      world.expect("it is gone", world.sim.get(serviceAccountType, ACCOUNT), undefined);
      world.expect("nothing is bound", world.bound, []);
      world.expect("it says so", isTold(world, "Revoked: "));
    },
  ),
  unready("a deletion that cannot ask for a lost account ends, and says so", async (world) => {
    await beginUnused(world);
    consoleDown(world);
    world.happens({ kind: "WipeStatus", plural: "serviceaccounts" });
    world.sim.delete(serviceAccountType, ACCOUNT);
    await world.pass(5 * MINUTE);
    world.expect("it waits", world.sim.get(serviceAccountType, ACCOUNT) !== undefined);
    await expectGone(world, 10 * MINUTE, "CleanupIncomplete: Gave up cleaning up");
  }),
  unready("deletions of an account and its users in an outage have one deadline", async (world) => {
    await world.begin();
    consoleDown(world);
    world.sim.delete(serviceAccountType, ACCOUNT);
    deleteUsers(world);
    await world.pass(9 * MINUTE);
    world.expect("they wait", world.sim.get(policyBindingType, "reader") !== undefined);
    await expectGone(world, 8 * MINUTE, "CleanupIncomplete: Gave up cleaning up");
  }),
  unready(
    "deletionPolicy Delete without a call for it waits and says what to set",
    async (world) => {
      await beginUnused(world, { account: { deletionPolicy: "Delete" } });
      world.sim.delete(serviceAccountType, ACCOUNT);
      await world.pass(MINUTE);
      const { reason, message = "" } = world.condition(serviceAccountType, ACCOUNT) ?? {};
      world.expect("it waits", reason, "DeleteNotPossible");
      world.expect("it says what to set", message.includes("extraCalls"));
    },
  ),
  ...[
    ["a 404 for an account that is still there does not end its deletion", refused(404), true],
    ["a 404 for an account that is gone by then ends its deletion", GONE, false],
  ].map(([name, fault, stays]) =>
    unready(
      String(name),
      async (world) => {
        const connection = { extraCalls: deleting };
        await beginUnused(world, { connection, account: { deletionPolicy: "Delete" } });
        world.fault("deleteServiceAccount", fault as CallFault);
        world.sim.delete(serviceAccountType, ACCOUNT);
        await world.pass(5 * SECOND);
        const found = world.sim.get(serviceAccountType, ACCOUNT);
        world.expect("whether it stays", found !== undefined, stays);
        await expectGone(world, 10 * MINUTE, "Deleted: ");
        world.expect("with the account", world.sim.console.world.accounts.size, 0);
      },
      { console: { extraCalls: deleting } },
    ),
  ),
  unready(
    "the deletion of an account that the console does not know any more ends",
    async (world) => {
      await beginUnused(world);
      const console = world.sim.console.world;
      for (const { saId } of [...console.accounts.values()]) console.deleteAccount(saId);
      world.sim.delete(serviceAccountType, ACCOUNT);
      await expectGone(world, MINUTE, "Released: ");
    },
  ),
  unready(
    "the deletion of an account that the console lists and does not find waits",
    async (world) => {
      await beginUnused(world);
      for (const operation of ["getServiceAccount", "syncBindings", "listBindings"])
        world.fault(operation, refused(404), 10_000);
      world.sim.delete(serviceAccountType, ACCOUNT);
      await world.pass(MINUTE);
      const { reason } = world.condition(serviceAccountType, ACCOUNT) ?? {};
      world.expect("it waits", reason, "Unavailable");
      world.cease();
      await expectGone(world, 10 * MINUTE, "Revoked: ");
    },
  ),
  unready(
    "an account whose status is lost waits for the console with its deletion",
    async (world) => {
      await world.begin();
      world.sim.delete(apiKeyType, "ci");
      await world.pass(MINUTE);
      consoleDown(world, 3);
      world.happens({ kind: "RemoveFinalizers", plural: "policybindings" });
      world.happens({ kind: "DeleteObject", plural: "policybindings" });
      world.happens({ kind: "WipeStatus", plural: "serviceaccounts" });
      world.sim.delete(serviceAccountType, ACCOUNT);
      await world.pass(MINUTE);
      world.expect("it waits", world.sim.get(serviceAccountType, ACCOUNT) !== undefined);
      await world.pass(HOUR);
      world.expect("nothing is bound", world.bound, []);
    },
  ),
  unready(
    "an account of somebody else with the same name is not taken for a lost one",
    async (world) => {
      await world.begin();
      const { orgId, projectId } = SEEDED;
      const console = world.sim.console.world;
      const [own] = [...console.accounts.values()];
      world.sim.delete(apiKeyType, "ci");
      world.sim.delete(policyBindingType, "reader");
      await world.pass(2 * MINUTE);
      console.deleteAccount(own?.saId ?? "");
      const foreign = console.createAccount({
        orgId,
        projectId,
        name: own?.name ?? "",
        description: "",
      });
      console.replaceBindings(foreign.tpn, [MEMBER]);
      world.happens({ kind: "WipeStatus", plural: "serviceaccounts" });
      world.sim.delete(serviceAccountType, ACCOUNT);
      await world.pass(HOUR);
      world.expect("its policies stay", console.boundTo(foreign.tpn), [MEMBER]);
    },
  ),
  ...["patch apikeys", "delete secrets"].map((call) =>
    unready(`a 404 of a gateway to ${call} keeps and leaves nothing`, async (world) => {
      await world.begin();
      world.fault(call, refused(404));
      world.sim.delete(apiKeyType, "ci");
      await world.pass(2 * MINUTE);
      world.expect("it is gone", world.sim.get(apiKeyType, "ci"), undefined);
      world.expect("so is its Secret", world.sim.get(secretType, "ci"), undefined);
    }),
  ),
  story("one 404 does not make an account gone", async (world) => {
    await world.begin();
    world.fault("getServiceAccount", refused(404));
    world.annotate(serviceAccountType, ACCOUNT, { "iam-operator.io/reconcile-requested-at": "1" });
    await world.pass(2 * MINUTE);
    world.expect("one account was created", world.calls("createServiceAccount"), 1);
    world.expect("it is Ready", world.condition(serviceAccountType, ACCOUNT)?.status, "True");
    const reasons = world.reasons(serviceAccountType, ACCOUNT);
    world.expect("nothing said it was gone", reasons.includes("ServiceAccountGone"), false);
  }),
];
