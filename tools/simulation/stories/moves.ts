/** An ApiKey whose `spec.serviceAccountRef` changes: what consumers read, and what becomes of the keys of both accounts. */
import { isTrue } from "../../../src/api/conditions.ts";
import {
  apiKeyType,
  policyBindingType,
  serviceAccountType,
} from "../../../src/resources/resource-types.ts";
import { MINUTE, SECOND } from "../../../src/util/time.ts";
import type { Tree } from "../../api-server/tree.ts";
import { accountsOf } from "../invariants/view.ts";
import { extraCalls } from "../scenarios/console.ts";
import { ACCOUNT, createBinding, createKey, inNamespace, READ } from "../scenarios.ts";
import { createInConsole, granting } from "./in-console.ts";
import { type Story, type StoryWorld, story, unready } from "./story.ts";

const OTHER = "ci-bot-2";
const withExtraCalls = { console: { extraCalls } };
const template = {
  data: { keyId: "${keyId}", secret: "${secret}", saId: "${saId}", tpn: "${tpn}" },
};

function createAccount(world: StoryWorld, name = OTHER, spec: Tree = {}): void {
  world.sim.create(serviceAccountType, { metadata: inNamespace(name), spec });
}

function bind(world: StoryWorld, name = OTHER, spec: Tree = {}): void {
  const serviceAccountRef = { name };
  createBinding(world.sim, `reader-of-${name}`, [READ], { serviceAccountRef, ...spec });
}

/** A key in use, and another account with policies. */
async function begin(world: StoryWorld, key: Tree = {}, connection: Tree = {}): Promise<void> {
  await world.begin({ key: { secret: template, ...key }, connection });
  createAccount(world);
  bind(world);
  await world.pass(MINUTE / 2);
}

function moveTo(world: StoryWorld, name: string): void {
  world.change(apiKeyType, "ci", { serviceAccountRef: { name } });
}

function saIdOf(world: StoryWorld, name: string): string | undefined {
  return accountsOf(world.sim).find(({ metadata }) => metadata.name === name)?.status?.saId;
}

/** ServiceAccount whose key consumers have, by the console. */
function holder(world: StoryWorld): string | undefined {
  const saId = world.sim.console.world.keys.get(world.secret().keyId ?? "")?.saId;
  return accountsOf(world.sim).find(({ status }) => status?.saId === saId)?.metadata.name;
}

function supersededOf(world: StoryWorld): readonly string[] {
  return (world.key().status?.superseded ?? []).map(
    ({ serviceAccount, state }) => `${serviceAccount} ${state}`,
  );
}

function unmanagedOf(world: StoryWorld): number {
  return accountsOf(world.sim).reduce(
    (sum, { status }) => sum + (status?.unmanagedKeyCount ?? 0),
    0,
  );
}

function said(world: StoryWorld): string {
  const { status, reason } = world.condition(apiKeyType, "ci") ?? {};
  return `${status} ${reason}`;
}

const moving: readonly Story[] = [
  story(
    "a key of another account takes the place of the key in use, which is ended on its own account",
    async (world) => {
      await begin(world, {}, { extraCalls });
      const [first] = world.live;
      moveTo(world, OTHER);
      await world.pass(MINUTE);
      world.expect("consumers have a key of the other account", holder(world), OTHER);
      const { tpn } = accountsOf(world.sim).find(({ metadata }) => metadata.name === OTHER)
        ?.status ?? { tpn: "" };
      world.expect("with its saId", world.secret().saId, saIdOf(world, OTHER));
      world.expect("and its TPN", world.secret().tpn, tpn);
      world.expect("the first key works", world.live.includes(first ?? ""));
      world.expect("it is listed with its account", supersededOf(world), [`${ACCOUNT} Live`]);
      await world.pass(3 * MINUTE);
      world.expect("it works for the whole overlap", world.live.length, 2);
      await world.pass(4 * MINUTE);
      world.expect("then it was deleted", supersededOf(world), [`${ACCOUNT} Deleted`]);
      world.expect("one key works", world.live, [world.secret().keyId]);
    },
    withExtraCalls,
  ),
  story("without calls to end it, the old key is known to both accounts", async (world) => {
    await begin(world);
    moveTo(world, OTHER);
    await world.pass(30 * MINUTE);
    world.expect("the first key is live", supersededOf(world), [`${ACCOUNT} Live`]);
    world.expect("no key is unmanaged", unmanagedOf(world), 0);
    world.expect("two keys were issued", world.issued, 2);
    world.expect("all is well", said(world), "True KeyDelivered");
  }),
  story("the next rotation is one of the new account", async (world) => {
    await begin(world);
    moveTo(world, OTHER);
    await world.pass(MINUTE);
    world.rotate("one");
    await world.pass(MINUTE);
    world.expect("a third key", world.issued, 3);
    world.expect("of the other account", holder(world), OTHER);
    world.expect("both are listed", supersededOf(world), [`${ACCOUNT} Live`, `${OTHER} Live`]);
  }),
  story(
    "an old key that was deleted in the console is not ended again and again",
    async (world) => {
      await begin(world, {}, { extraCalls });
      const [first] = world.live;
      moveTo(world, OTHER);
      await world.pass(MINUTE);
      world.sim.console.world.deleteKey(first ?? "");
      await world.pass(60 * MINUTE);
      world.expect("it is listed as deleted", supersededOf(world), [`${ACCOUNT} Deleted`]);
      world.expect("all is well", said(world), "True KeyDelivered");
    },
    withExtraCalls,
  ),
  story(
    "a key that no list has shown before the move is known to be deleted",
    async (world) => {
      await begin(world, {}, { extraCalls, accountPollInterval: "1h" });
      moveTo(world, OTHER);
      await world.pass(10 * MINUTE);
      world.expect("it was deleted", supersededOf(world), [`${ACCOUNT} Deleted`]);
    },
    withExtraCalls,
  ),
  story("a move waits for a window, unless it is requested", async (world) => {
    const windows = [{ schedule: "0 3 1 1 *", duration: "1h" }];
    await begin(world, { rotation: { overlap: "5m", windows } });
    moveTo(world, OTHER);
    await world.pass(5 * MINUTE);
    world.expect("consumers have the first key", holder(world), ACCOUNT);
    world.expect("the object says why", said(world), "True WaitingForWindow");
    world.rotate("now");
    await world.pass(MINUTE);
    world.expect("then a key of the other account", holder(world), OTHER);
    world.expect("two keys were issued", world.issued, 2);
  }),
  story(
    "a person who changes their mind gets the first key back, and loses none",
    async (world) => {
      await begin(world);
      const first = world.secret().keyId;
      world.fault("searchActions", { kind: "Refuse", status: 401 }, 3);
      moveTo(world, OTHER);
      await world.until(() => world.issued === 2);
      await world.pass(SECOND);
      world.expect("the new pair is pending", world.key().status?.pending?.serviceAccount, OTHER);
      moveTo(world, ACCOUNT);
      await world.pass(5 * MINUTE);
      world.expect("consumers have the first key", world.secret().keyId, first);
      world.expect("the other one is listed", supersededOf(world), [`${OTHER} Live`]);
      world.expect("nothing is pending", world.key().status?.pending, undefined);
      world.expect("no key was issued again", world.issued, 2);
      world.expect("no key is unmanaged", unmanagedOf(world), 0);
    },
  ),
  story(
    "a pair of a move that was canceled is ended on its own account",
    async (world) => {
      await begin(world, {}, { extraCalls });
      world.fault("searchActions", { kind: "Refuse", status: 401 }, 3);
      moveTo(world, OTHER);
      await world.until(() => world.issued === 2);
      await world.pass(SECOND);
      moveTo(world, ACCOUNT);
      await world.pass(15 * MINUTE);
      world.expect("it was deleted", supersededOf(world), [`${OTHER} Deleted`]);
      world.expect("one key works", world.live, [world.secret().keyId]);
    },
    withExtraCalls,
  ),
  story("a lost answer is explained on its own account", async (world) => {
    await begin(world);
    world.fault("issueKey", { kind: "Reset", when: "AfterCommit" });
    moveTo(world, OTHER);
    await world.until(() => world.issued === 2);
    moveTo(world, ACCOUNT);
    await world.pass(5 * MINUTE);
    const orphans = world.key().status?.orphaned ?? [];
    world.expect(
      "the lost key is listed with its account",
      orphans.map(({ saId }) => saId),
      [saIdOf(world, OTHER)],
    );
    world.expect("consumers have the first key", holder(world), ACCOUNT);
    world.expect("no key was issued again", world.issued, 2);
    world.expect("no key is unmanaged", unmanagedOf(world), 0);
  }),
];

const waiting: readonly Story[] = [
  unready("nothing changes while the new account does not exist", async (world) => {
    await world.begin({ key: { secret: template, rotation: { overlap: "5m" } } });
    moveTo(world, OTHER);
    await world.pass(5 * MINUTE);
    world.expect("consumers have the first key", holder(world), ACCOUNT);
    world.expect("the object says why", said(world), "True ServiceAccountNotFound");
    const forecast = world.condition(apiKeyType, "ci", "IssuanceAllowed");
    world.expect("so does the forecast", forecast?.reason, "ServiceAccountNotFound");
    moveTo(world, ACCOUNT);
    await world.pass(MINUTE);
    world.expect("and back", said(world), "True KeyDelivered");
    world.expect("one key was issued", world.issued, 1);
  }),
  story("the key in use is looked after while the new account is not ready", async (world) => {
    await world.begin({ key: { secret: template } });
    moveTo(world, OTHER);
    await world.pass(MINUTE);
    world.change(apiKeyType, "ci", { secret: { data: { ...template.data, more: "${saId}" } } });
    await world.pass(MINUTE);
    world.expect("its Secret follows", world.secret().more, saIdOf(world, ACCOUNT));
    createAccount(world);
    bind(world);
    await world.pass(2 * MINUTE);
    world.expect("then the key moves", holder(world), OTHER);
    world.expect("with the rest of the Secret", world.secret().more, saIdOf(world, OTHER));
  }),
  story("consumers lose no permission", async (world) => {
    await world.begin({ key: { secret: template } });
    createAccount(world);
    await world.pass(MINUTE / 2);
    moveTo(world, OTHER);
    await world.pass(5 * MINUTE);
    world.expect("consumers have the first key", holder(world), ACCOUNT);
    world.expect("the object says why", said(world), "True PermissionsMissing");
    world.change(serviceAccountType, OTHER, { access: "Revoked" });
    bind(world);
    await world.pass(2 * MINUTE);
    world.expect("not without access either", holder(world), ACCOUNT);
    world.change(serviceAccountType, OTHER, { access: "Granted" });
    await world.pass(MINUTE);
    world.expect("then the key moves", holder(world), OTHER);
  }),
  story("consumers lose no permission that was bound in the console", async (world) => {
    const theirs = createInConsole(world);
    const grants = granting({ importServiceAccounts: true });
    await world.begin({ key: { secret: template }, connection: grants });
    createAccount(world, "imported", { saId: theirs.saId });
    createAccount(world);
    moveTo(world, "imported");
    await world.pass(2 * MINUTE);
    world.expect("an imported account needs no PolicyBinding", holder(world), "imported");
    moveTo(world, OTHER);
    await world.pass(5 * MINUTE);
    world.expect("consumers keep its key", holder(world), "imported");
    world.expect("the object says why", said(world), "True PermissionsMissing");
    bind(world);
    await world.pass(2 * MINUTE);
    world.expect("then the key moves", holder(world), OTHER);
  }),
  story("a rotation that was under way when the reference changed ends as usual", async (world) => {
    await world.begin({ key: { secret: template } });
    createAccount(world);
    await world.pass(MINUTE / 2);
    world.fault("searchActions", { kind: "Refuse", status: 401 }, 3);
    world.rotate("one");
    await world.until(() => world.issued === 2);
    const [, second] = world.live;
    moveTo(world, OTHER);
    await world.pass(3 * MINUTE);
    world.expect("consumers have the second key", world.secret().keyId, second);
    bind(world);
    await world.pass(MINUTE);
    world.expect("then one of the other account", holder(world), OTHER);
    world.expect("three keys were issued", world.issued, 3);
  }),
  story("access that is revoked before the switch holds it up", async (world) => {
    await begin(world);
    world.fault("searchActions", { kind: "Refuse", status: 401 }, 3);
    moveTo(world, OTHER);
    await world.until(() => world.issued === 2);
    world.change(serviceAccountType, OTHER, { access: "Revoked" });
    await world.pass(5 * MINUTE);
    world.expect("consumers have the first key", holder(world), ACCOUNT);
    world.change(serviceAccountType, OTHER, { access: "Granted" });
    await world.pass(2 * MINUTE);
    world.expect("then the second", holder(world), OTHER);
    world.expect("two keys were issued", world.issued, 2);
  }),
];

/** The ApiKey moves, and its former account is deleted with its policies. */
async function leaveAccount(world: StoryWorld): Promise<void> {
  moveTo(world, OTHER);
  await world.pass(MINUTE);
  world.sim.delete(policyBindingType, "reader");
  world.sim.delete(serviceAccountType, ACCOUNT);
}

const ending: readonly Story[] = [
  story("access of the old account is revoked after the move", async (world) => {
    await begin(world);
    moveTo(world, OTHER);
    await world.pass(MINUTE);
    world.change(serviceAccountType, ACCOUNT, { access: "Revoked" });
    world.sim.delete(policyBindingType, "reader");
    await world.pass(10 * MINUTE);
    const account = accountsOf(world.sim).find(({ metadata }) => metadata.name === ACCOUNT);
    world.expect("it is proven", isTrue(account?.status?.conditions, "AccessRevoked"));
    world.expect("consumers have permissions", world.boundTo(world.secret().tpn ?? ""), [READ]);
    world.sim.delete(serviceAccountType, ACCOUNT);
    await world.pass(2 * MINUTE);
    world.expect("the old object is gone", world.sim.get(serviceAccountType, ACCOUNT), undefined);
    world.expect("its key is listed", supersededOf(world), [`${ACCOUNT} Live`]);
    world.expect("all is well", said(world), "True KeyDelivered");
  }),
  unready("an account with a superseded key that works is not deleted", async (world) => {
    await begin(world);
    await leaveAccount(world);
    await world.pass(10 * MINUTE);
    const { reason, message = "" } = world.condition(serviceAccountType, ACCOUNT) ?? {};
    world.expect("it waits", reason, "InUse");
    world.expect("for that key", message.includes("ApiKey ci (superseded keys)"));
    world.expect("nothing has to be deleted", message.includes("Delete"), false);
    world.expect("the ApiKey goes on", said(world), "True KeyDelivered");
  }),
  story("a deletion that waits for a superseded key ends once access is revoked", async (world) => {
    await begin(world);
    await leaveAccount(world);
    await world.pass(MINUTE);
    world.change(serviceAccountType, ACCOUNT, { access: "Revoked" });
    await world.pass(MINUTE / 2);
    world.expect("it is gone", world.sim.get(serviceAccountType, ACCOUNT), undefined);
  }),
  unready(
    "no key of an account that is gone holds up the deletion of its object",
    async (world) => {
      await begin(world);
      world.sim.deleteAccountInConsole(saIdOf(world, ACCOUNT) ?? "");
      await world.pass(6 * MINUTE);
      world.sim.delete(serviceAccountType, ACCOUNT);
      await world.pass(MINUTE);
      const { reason, message = "" } = world.condition(serviceAccountType, ACCOUNT) ?? {};
      world.expect("it waits, and the account stays gone", reason, "ServiceAccountGone");
      world.expect("for the ApiKey", message.includes("Delete ApiKey ci"));
      moveTo(world, OTHER);
      await world.pass(10 * MINUTE);
      world.expect("consumers have another key", said(world), "True KeyDelivered");
      world.expect("the first key is dead", supersededOf(world), [`${ACCOUNT} Inactive`]);
      world.sim.delete(policyBindingType, "reader");
      await world.pass(10 * MINUTE);
      world.expect("the old object is gone", world.sim.get(serviceAccountType, ACCOUNT), undefined);
    },
  ),
  story(
    "an account is deleted once its last key was ended",
    async (world) => {
      await begin(world, {}, { extraCalls });
      moveTo(world, OTHER);
      await world.pass(MINUTE);
      world.sim.delete(policyBindingType, "reader");
      world.sim.delete(serviceAccountType, ACCOUNT);
      await world.pass(10 * MINUTE);
      world.expect("the old key was deleted", supersededOf(world), [`${ACCOUNT} Deleted`]);
      const left = world.sim.get(serviceAccountType, ACCOUNT);
      world.expect("the old object is gone", left, undefined);
    },
    withExtraCalls,
  ),
  story(
    "an ApiKey whose account is being deleted can move to another account",
    async (world) => {
      await begin(world, {}, { extraCalls });
      world.sim.delete(serviceAccountType, ACCOUNT);
      await world.pass(MINUTE);
      const forecast = world.condition(apiKeyType, "ci", "IssuanceAllowed");
      world.expect("the key says so", forecast?.reason, "ServiceAccountNotReady");
      const { message = "" } = world.condition(serviceAccountType, ACCOUNT) ?? {};
      world.expect(
        "both ways are named",
        /Delete ApiKey ci first; an ApiKey can instead name another .* Delete PolicyBinding reader last/.test(
          message,
        ),
      );
      moveTo(world, OTHER);
      await world.pass(MINUTE);
      world.expect("consumers have a key of the other account", holder(world), OTHER);
      world.sim.delete(policyBindingType, "reader");
      await world.pass(15 * MINUTE);
      const left = world.sim.get(serviceAccountType, ACCOUNT);
      world.expect("the old object is gone", left, undefined);
    },
    withExtraCalls,
  ),
  story(
    "a moved ApiKey that is deleted takes the keys of both accounts with it",
    async (world) => {
      await begin(world, {}, { extraCalls });
      moveTo(world, OTHER);
      await world.pass(MINUTE);
      world.sim.delete(apiKeyType, "ci");
      await world.pass(2 * MINUTE);
      world.expect("no key works", world.live, []);
    },
    withExtraCalls,
  ),
  story(
    "the old account goes from the console after the move",
    async (world) => {
      await begin(world);
      moveTo(world, OTHER);
      await world.pass(MINUTE);
      const saId = saIdOf(world, ACCOUNT) ?? "";
      world.sim.console.world.accounts.delete(saId);
      await world.pass(20 * MINUTE);
      world.expect("the ApiKey goes on", said(world), "True KeyDelivered");
      world.expect("with a key of the other account", holder(world), OTHER);
    },
    { endsReady: false },
  ),
  story(
    "an attempt of an account that has left the cluster does not hold up the workload",
    async (world) => {
      createAccount(world);
      await world.begin();
      createKey(world.sim, "late", { serviceAccountRef: { name: OTHER } });
      world.fault("issueKey", { kind: "Reset", when: "AfterCommit" });
      await world.until(() => world.key("late").status?.attempt !== undefined);
      world.sim.patch(serviceAccountType, OTHER, { metadata: { finalizers: null } });
      world.sim.delete(serviceAccountType, OTHER);
      world.change(apiKeyType, "late", { serviceAccountRef: { name: ACCOUNT } });
      await world.pass(12 * MINUTE);
      const status = world.key("late").status;
      world.expect("it has a key", status?.current?.serviceAccount, ACCOUNT);
      const assumed = (status?.orphaned ?? []).map(({ serviceAccount }) => serviceAccount);
      world.expect("one is assumed to be lost", assumed, [OTHER]);
    },
    { excuses: ["S5 accounting", "S6 finalizer", "S20 deletion"] },
  ),
];

export const moveStories: readonly Story[] = [...moving, ...waiting, ...ending];
