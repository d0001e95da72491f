/** Keys and accounts that an administrator disables, enables or deletes in the console, and keys that expire early. */
import { annotations } from "../../../src/api/meta.ts";
import type { ResourceType } from "../../../src/kube/resource.ts";
import {
  apiKeyType,
  clusterConnectionType,
  policyBindingType,
  serviceAccountType,
} from "../../../src/resources/resource-types.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../../../src/util/time.ts";
import { treeAt } from "../../api-server/tree.ts";
import type { Shapes } from "../../iam-server/shapes.ts";
import { ACCOUNT, createKey, READ } from "../scenarios.ts";
import { grant, withdrawn } from "./in-console.ts";
import { type Story, type StoryWorld, story, storyWith, unready } from "./story.ts";

const refused = (status: number) => ({ kind: "Refuse", status }) as const;
/** An hour, by the same call as checks of keys. */
const CHECKS_OF_CONNECTION = 1;

function said(world: StoryWorld, name = "ci"): string {
  const { status, reason } = world.condition(apiKeyType, name) ?? {};
  return `${status} ${reason}`;
}

function accountSaid(world: StoryWorld): string {
  const { status, reason } = world.condition(serviceAccountType, ACCOUNT) ?? {};
  return `${status} ${reason}`;
}

/** Has the account with its keys read now. */
function read(world: StoryWorld): void {
  world.annotate(serviceAccountType, ACCOUNT, {
    [annotations.reconcileRequestedAt]: `${world.sim.kernel.elapsed}`,
  });
}

function keyInUse(world: StoryWorld, name = "ci"): string {
  return world.secret(name).keyId ?? "";
}

function holdsLiveKey(world: StoryWorld, name = "ci"): boolean {
  return world.live.includes(keyInUse(world, name));
}

function firstAccount(world: StoryWorld): string {
  return [...world.sim.console.world.accounts.keys()][0] ?? "";
}

const statesOf = (world: StoryWorld) =>
  (world.key().status?.superseded ?? []).map(({ state }) => state);

const WAYS = {
  disabled: (world: StoryWorld, keyId: string) =>
    world.sim.setKeyStatusInConsole(keyId, "inactive"),
  expired: (world: StoryWorld, keyId: string) => world.sim.expireKeyInConsole(keyId),
};

const endedKeyStories = Object.entries(WAYS).flatMap(([what, end]) => [
  story(`a key that the list shows as ${what} is replaced within a minute`, async (world) => {
    await world.begin();
    end(world, keyInUse(world));
    read(world);
    await world.pass(5 * SECOND);
    world.expect("it is reported", said(world), "False KeyRefused");
    const { message = "" } = world.condition(apiKeyType, "ci") ?? {};
    world.expect("with the cause", message.includes("lists it as inactive or expired"));
    await world.pass(MINUTE);
    world.expect("it was replaced", holdsLiveKey(world));
    world.expect("once", world.issued, 2);
    const told = world.events("ci").find((each) => each.startsWith("KeyRotated")) ?? "";
    world.expect("an event says the same", told.includes("lists it as inactive or expired"));
    await world.pass(MINUTE);
    world.expect("the old key is listed with its state", statesOf(world), ["Inactive"]);
  }),
  story(`a key that is ${what} is found by the regular list`, async (world) => {
    await world.begin();
    end(world, keyInUse(world));
    await world.pass(6 * MINUTE);
    world.expect("it was replaced", holdsLiveKey(world));
  }),
  story(`a pending key that the list shows as ${what} is given up`, async (world) => {
    await world.begin();
    const first = keyInUse(world);
    world.fault("searchActions", refused(401), 10_000);
    world.rotate("one");
    // By now it is tried once a minute.
    await world.pass(3.5 * MINUTE);
    const pending = world.key().status?.pending?.keyId ?? "";
    end(world, pending);
    read(world);
    await world.pass(5 * SECOND);
    world.expect("another key is issued", world.issued, 3);
    const { orphaned = [] } = world.key().status ?? {};
    world.expect("it is listed", orphaned[0]?.keyId, pending);
    world.expect("the key in use stays", keyInUse(world), first);
    world.cease();
    await world.pass(2 * MINUTE);
    world.expect("the other key is delivered", keyInUse(world), world.live.at(-1));
  }),
]);

const supersededStories: readonly Story[] = [
  story(
    "a superseded key that is deleted soon after its issue is Inactive once a list must have it",
    async (world) => {
      await world.begin();
      const first = keyInUse(world);
      world.rotate("one");
      await world.pass(30 * SECOND);
      world.sim.deleteKeyInConsole(first);
      read(world);
      await world.pass(MINUTE);
      world.expect("a list may be behind", statesOf(world), ["Live"]);
      await world.pass(10 * MINUTE);
      world.expect("then it is said", statesOf(world), ["Inactive"]);
    },
  ),
];

const verifiedSaid = (world: StoryWorld) => {
  const { status, reason } = world.condition(apiKeyType, "ci", "Verified") ?? {};
  return `${status} ${reason}`;
};

const uncheckedKeyStories: readonly Story[] = [
  unready("a key that is not checked for lack of permission is not Verified", async (world) => {
    await world.begin();
    for (const operation of ["getServiceAccount", "listServiceAccounts"])
      world.fault(operation, refused(403), 10_000);
    read(world);
    await world.pass(10 * SECOND);
    world.expect("it says so", verifiedSaid(world), "Unknown ServiceAccountNotReady");
    world.cease();
    read(world);
    await world.pass(10 * SECOND);
    world.expect("then it is again", verifiedSaid(world), "True KeyAccepted");
  }),
];

const suspendedKeyStories: readonly Story[] = [
  unready("a suspended ApiKey whose status was lost reads its key back", async (world) => {
    await world.begin();
    const { keyId } = world.secret();
    world.change(apiKeyType, "ci", { suspend: true });
    await world.pass(MINUTE);
    world.sim.meddle(() => world.sim.patch(apiKeyType, "ci", { status: null }, "status"));
    world.annotate(apiKeyType, "ci", { [annotations.reconcileRequestedAt]: "now" });
    await world.pass(MINUTE);
    world.expect("the key is listed", world.key().status?.current?.keyId, keyId);
    world.expect("and tried", world.condition(apiKeyType, "ci", "Verified")?.status, "True");
  }),
  story(
    "a suspended ApiKey whose key was disabled reports it, and is repaired when resumed",
    async (world) => {
      await world.begin();
      world.change(apiKeyType, "ci", { suspend: true });
      const keyId = keyInUse(world);
      world.sim.setKeyStatusInConsole(keyId, "inactive");
      read(world);
      await world.pass(5 * SECOND);
      world.expect("it is not Ready", said(world), "False Suspended");
      world.expect("nor Verified", verifiedSaid(world), "False KeyRefused");
      world.sim.setKeyStatusInConsole(keyId, "active");
      read(world);
      await world.pass(5 * SECOND);
      world.expect("enabled again, it is Ready", said(world), "True Suspended");
      world.expect("and Verified", verifiedSaid(world), "True KeyAccepted");
      world.sim.setKeyStatusInConsole(keyId, "inactive");
      read(world);
      await world.pass(MINUTE);
      world.expect("no key was issued", world.issued, 1);
      world.change(apiKeyType, "ci", { suspend: false });
      await world.pass(2 * MINUTE);
      world.expect("it was replaced", holdsLiveKey(world));
    },
  ),
  story(
    "a suspended ApiKey whose key was deleted reports it, even if its connection fails then",
    async (world) => {
      await world.begin();
      world.change(apiKeyType, "ci", { suspend: true });
      await world.pass(SECOND);
      world.sim.deleteKeyInConsole(keyInUse(world));
      read(world);
      await world.pass(5 * SECOND);
      world.expect("it is not Ready", said(world), "False Suspended");
      world.expect("nor Verified", verifiedSaid(world), "False KeyRefused");
      world.change(clusterConnectionType, "default", { suspend: true });
      await world.pass(MINUTE);
      world.expect("it is still not Ready", said(world), "False Suspended");
      world.change(clusterConnectionType, "default", { suspend: false });
      world.change(apiKeyType, "ci", { suspend: false });
      await world.pass(3 * MINUTE);
      world.expect("it was replaced", holdsLiveKey(world));
    },
  ),
];

const blindSuspendedKeyStories: readonly Story[] = [
  storyWith({ console: { shapes: { keyRecords: "empty" } } })(
    "a suspended ApiKey whose key was deleted reports it on request, if the console lists no keys",
    async (world) => {
      await world.begin();
      world.change(apiKeyType, "ci", { suspend: true });
      await world.pass(SECOND);
      world.sim.deleteKeyInConsole(keyInUse(world));
      world.annotate(apiKeyType, "ci", { [annotations.reconcileRequestedAt]: "now" });
      await world.pass(5 * SECOND);
      world.expect("it is not Ready", said(world), "False Suspended");
      world.expect("nor Verified", verifiedSaid(world), "False KeyRefused");
      await world.pass(10 * MINUTE);
      world.expect("no key was issued", world.calls("issueKey"), 1);
      world.change(apiKeyType, "ci", { suspend: false });
      await world.pass(3 * MINUTE);
      world.expect("it was replaced", holdsLiveKey(world));
    },
  ),
  story("a suspended ApiKey whose check fails is checked once a minute", async (world) => {
    await world.begin();
    world.change(apiKeyType, "ci", { suspend: true });
    world.sim.deleteKeyInConsole(keyInUse(world));
    world.fault("searchActions", { kind: "Answer", status: 200, body: () => "{" }, 10_000);
    const before = world.calls("searchActions");
    read(world);
    await world.pass(10 * MINUTE);
    const tries = world.calls("searchActions") - before;
    world.expect("it is tried again", tries >= 8);
    world.expect("at intervals", tries <= 12);
    world.expect("nothing is shown", said(world), "True Suspended");
    world.cease();
    await world.pass(2 * MINUTE);
    world.expect("then it is", said(world), "False Suspended");
    world.change(apiKeyType, "ci", { suspend: false });
    await world.pass(MINUTE);
    world.expect("it was replaced", holdsLiveKey(world));
  }),
];

const enabledKeyStories: readonly Story[] = [
  story("a key that is enabled again before it is replaced works again", async (world) => {
    await world.begin({ key: { maxIssuesPerDay: 1 } });
    const keyId = keyInUse(world);
    world.sim.setKeyStatusInConsole(keyId, "inactive");
    read(world);
    await world.pass(3 * MINUTE);
    world.expect("it is not Ready", said(world).startsWith("False"));
    world.sim.setKeyStatusInConsole(keyId, "active");
    await world.pass(2 * MINUTE);
    world.expect("it is Ready", said(world), "True KeyDelivered");
    world.expect("with the same key", [keyInUse(world), world.issued], [keyId, 1]);
  }),
  story("the state of a superseded key follows the list", async (world) => {
    await world.begin();
    const first = keyInUse(world);
    world.rotate("one");
    await world.pass(MINUTE);
    world.sim.setKeyStatusInConsole(first, "inactive");
    read(world);
    await world.pass(5 * SECOND);
    world.expect("disabled", statesOf(world), ["Inactive"]);
    world.sim.setKeyStatusInConsole(first, "active");
    read(world);
    await world.pass(5 * SECOND);
    world.expect("enabled again", statesOf(world), ["Live"]);
    world.expect("the key in use stays", said(world), "True KeyDelivered");
  }),
  story("a superseded key that was deleted in the console is not live", async (world) => {
    await world.begin();
    world.rotate("one");
    await world.pass(10 * MINUTE);
    world.expect("live", statesOf(world), ["Live"]);
    world.sim.console.world.deleteKey(world.live[0] ?? "");
    read(world);
    await world.pass(5 * SECOND);
    world.expect("deleted", statesOf(world), ["Inactive"]);
    world.expect("the key in use stays", said(world), "True KeyDelivered");
  }),
  unready("no key of an account that is gone is live or verified", async (world) => {
    await world.begin();
    world.rotate("one");
    await world.pass(MINUTE);
    world.expect("verified", world.condition(apiKeyType, "ci", "Verified")?.status, "True");
    world.happens({ kind: "EndAccounts", how: "Delete" });
    read(world);
    await world.pass(MINUTE);
    world.expect("the superseded key", statesOf(world), ["Inactive"]);
    const { status, reason } = world.condition(apiKeyType, "ci", "Verified") ?? {};
    world.expect("the key in use", [status, reason], ["False", "ServiceAccountNotReady"]);
  }),
  story("a list that shows a key as inactive although it works replaces nothing", async (world) => {
    await world.begin();
    world.rewrite("getServiceAccount", (body) =>
      body.replace(/("keys":\[.*?"status":)"active"/, '$1"inactive"'),
    );
    await world.pass(HOUR);
    const { inactiveKeyIds } = treeAt(world.sim.get(serviceAccountType, ACCOUNT) ?? {}, "status");
    world.expect("the list is read", inactiveKeyIds, [keyInUse(world)]);
    world.expect("it stays Ready", said(world), "True KeyDelivered");
    world.expect("no key was issued", world.issued, 1);
  }),
];

/** Lists that do not show the states of keys, or no keys. */
const stateless: readonly Shapes["keyRecords"][] = ["keyIdOnly", "strings", "omitted"];

const triedStories = stateless.flatMap((keyRecords) => {
  const blind = storyWith({ console: { shapes: { keyRecords } } });
  const ofShape = `(keys: ${keyRecords})`;
  return [
    blind(`a disabled key is found within an hour without states ${ofShape}`, async (world) => {
      await world.begin();
      await world.pass(5 * MINUTE);
      world.sim.setKeyStatusInConsole(keyInUse(world), "inactive");
      await world.pass(63 * MINUTE);
      world.expect("it was replaced", holdsLiveKey(world));
      world.expect("once", world.issued, 2);
    }),
    blind(`a key in order is tried at most twice an hour ${ofShape}`, async (world) => {
      await world.begin();
      const before = world.calls("searchActions");
      await world.pass(12 * HOUR);
      const tries = world.calls("searchActions") - before;
      world.expect("at least once an hour", tries >= 12);
      world.expect("at most twice", tries <= (2 + CHECKS_OF_CONNECTION) * 12);
    }),
    blind(`a restart tries no key ${ofShape}`, async (world) => {
      await world.begin();
      createKey(world.sim, "two");
      await world.pass(MINUTE);
      world.happens({ kind: "Stop" });
      await world.pass(MINUTE);
      const before = world.calls("searchActions");
      await world.pass(15 * MINUTE);
      const tries = world.calls("searchActions") - before;
      world.expect("only the connection is checked", tries <= CHECKS_OF_CONNECTION);
    }),
  ];
});

/** What a read has found stays so when the grant is withdrawn afterwards, and for the next process. */
const foundStories: readonly Story[] = [
  withdrawn("an account stays deleted while nothing is granted", async (world) => {
    await world.begin({ policyIds: [READ] });
    world.sim.deleteAccountInConsole(firstAccount(world));
    await expectUngranted(world, "ServiceAccountGone");
    const told = "The console no longer has service account";
    world.expect("the ApiKey says why", messageOf(world, apiKeyType, "ci").includes(told));
    const ofBinding = messageOf(world, policyBindingType, "reader");
    world.expect("so does the PolicyBinding", ofBinding.includes(told));
    world.expect("both are stalled", stalledIn(world), ["True", "True"]);
    const before = world.calls("syncBindings");
    world.sim.delete(policyBindingType, "reader");
    await world.pass(5 * SECOND);
    world.expect("its PolicyBinding goes", world.sim.get(policyBindingType, "reader"), undefined);
    world.expect("without a call", world.calls("syncBindings"), before);
  }),
  withdrawn("an account stays disabled while nothing is granted", async (world) => {
    await world.begin();
    world.sim.setAccountStatusInConsole(firstAccount(world), "inactive");
    await expectUngranted(world, "ServiceAccountNotActive");
    const told = "is inactive, not active";
    world.expect("the ApiKey says why", messageOf(world, apiKeyType, "ci").includes(told));
  }),
];

/** A read finds the reason; then the grant is withdrawn, and another process starts. */
async function expectUngranted(world: StoryWorld, reason: string): Promise<void> {
  read(world);
  await world.until(() => accountSaid(world) === `False ${reason}`);
  grant(world, "Nothing");
  await world.until(() => accountSaid(world) === "False NotGranted");
  world.happens({ kind: "Kill" });
  await world.pass(10 * MINUTE);
  world.expect("the account reports the grant", accountSaid(world), "False NotGranted");
  world.expect("the ApiKey is not Ready", said(world), "False ServiceAccountNotReady");
}

/** Whether an administrator must act, by the ApiKey and the PolicyBinding. */
function stalledIn(world: StoryWorld): readonly (string | undefined)[] {
  return [
    world.condition(apiKeyType, "ci", "Stalled")?.status,
    world.condition(policyBindingType, "reader", "Stalled")?.status,
  ];
}

function messageOf(world: StoryWorld, type: ResourceType, name: string): string {
  return world.condition(type, name)?.message ?? "";
}

const accountStories: readonly Story[] = [
  unready("ApiKeys of a deleted account are not Ready from the same read on", async (world) => {
    await world.begin();
    world.sim.deleteAccountInConsole(firstAccount(world));
    read(world);
    await world.until(() => accountSaid(world) === "False ServiceAccountGone");
    await world.pass(SECOND);
    world.expect("the ApiKey says so", said(world), "False ServiceAccountNotReady");
    await world.pass(10 * MINUTE);
    world.expect("for good", said(world), "False ServiceAccountNotReady");
    world.expect("no key was issued", world.issued <= 1);
  }),
  ...foundStories,
  unready("a deleted account is noticed right before a key is issued", async (world) => {
    await world.begin();
    world.sim.deleteAccountInConsole(firstAccount(world));
    world.rotate("one");
    await world.pass(5 * SECOND);
    world.expect("the ApiKey says so", said(world), "False ServiceAccountNotReady");
  }),
  story("ApiKeys of a disabled account are Ready when it is enabled again", async (world) => {
    await world.begin();
    const keyId = keyInUse(world);
    world.sim.setAccountStatusInConsole(firstAccount(world), "inactive");
    read(world);
    await world.until(() => accountSaid(world) === "False ServiceAccountNotActive");
    await world.pass(SECOND);
    world.expect("the ApiKey says so", said(world), "False ServiceAccountNotReady");
    await world.pass(10 * MINUTE);
    world.sim.setAccountStatusInConsole(firstAccount(world), "active");
    read(world);
    await world.pass(5 * SECOND);
    world.expect("it works again", said(world), "True KeyDelivered");
    world.expect("with the same key", [keyInUse(world), world.issued], [keyId, 1]);
  }),
];

/** The console answers issueKey with less, or with a key that the ApiKey already has. */
const answerStories: readonly Story[] = [
  story(
    "a key that the console shortens is renewed in time",
    async (world) => {
      world.sim.console.world.settings.maxKeyDays = 2;
      await world.begin();
      const shortened = world.events("ci").filter((text) => text.startsWith("LifetimeShortened"));
      world.expect("it is said once", shortened.length, 1);
      for (let day = 0; day < 3; day += 1) await world.pass(DAY);
      world.expect("it was renewed", world.issued >= 2);
      world.expect("a valid key is in use", holdsLiveKey(world));
    },
    { console: { shapes: { issuedKey: "full" } } },
  ),
  ...[
    story("the key in use that is issued again is delivered with its new secret", async (world) => {
      await world.begin();
      const before = world.secret();
      world.sim.console.world.settings.reissuesKeys = true;
      world.rotate("one");
      await world.pass(MINUTE);
      const after = world.secret();
      world.expect("the same key", after.keyId, before.keyId);
      world.expect("another secret", after.secret !== before.secret);
      world.expect("it works", world.sim.console.world.isPair(`${after.keyId}`, `${after.secret}`));
      world.expect("it is Ready", said(world), "True KeyDelivered");
      world.expect("its revision", world.key().status?.current?.revision, 2);
      world.expect("no key is superseded", statesOf(world), []);
      const reissued = world.events("ci").filter((text) => text.startsWith("KeyReissued"));
      world.expect("it is said once", reissued.length, 1);
    }),
    story("a key that is issued again is kept until the console accepts it", async (world) => {
      await world.begin();
      const before = world.secret();
      world.sim.console.world.settings.reissuesKeys = true;
      world.fault("searchActions", refused(401), 1_000);
      world.rotate("one");
      await world.pass(10 * MINUTE);
      world.expect("it is pending", world.key().status?.attempt !== undefined);
      world.cease();
      await world.pass(2 * MINUTE);
      world.expect("it is delivered", world.secret().secret !== before.secret);
      world.expect("it is Ready", said(world), "True KeyDelivered");
    }),
    story("a superseded key that is issued again is delivered", async (world) => {
      await world.begin();
      const first = world.secret();
      world.rotate("one");
      await world.pass(MINUTE);
      world.sim.deleteKeyInConsole(keyInUse(world));
      world.sim.console.world.settings.reissuesKeys = true;
      read(world);
      await world.pass(2 * MINUTE);
      world.expect("the same key", keyInUse(world), first.keyId);
      world.expect("it is Ready", said(world), "True KeyDelivered");
      const { superseded = [] } = world.key().status ?? {};
      const ids = superseded.map(({ keyId }) => keyId);
      world.expect("it is superseded no more", ids.includes(`${first.keyId}`), false);
    }),
    story("an orphaned key that is issued again is delivered", async (world) => {
      world.fault("issueKey", { kind: "Reset", when: "AfterCommit" });
      world.sim.console.world.settings.reissuesKeys = true;
      await world.begin();
      await world.pass(MINUTE);
      world.expect("it is delivered", holdsLiveKey(world));
      world.expect("it is Ready", said(world), "True KeyDelivered");
      world.expect("it is orphaned no more", world.key().status?.orphaned ?? [], []);
    }),
  ].map((each) => ({ ...each, excuses: ["S16 key times"] })),
];

export const keyStateStories: readonly Story[] = [
  ...endedKeyStories,
  ...uncheckedKeyStories,
  ...supersededStories,
  ...suspendedKeyStories,
  ...blindSuspendedKeyStories,
  ...enabledKeyStories,
  ...triedStories,
  ...accountStories,
  ...answerStories,
];
