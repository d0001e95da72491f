/** A key in use that ends outside the operator: checked as soon as a list lacks it, reported at once, replaced soon. */
import { annotations } from "../../../src/api/meta.ts";
import type { ResourceType } from "../../../src/kube/resource.ts";
import { apiKeyType, serviceAccountType } from "../../../src/resources/resource-types.ts";
import { HOUR, MINUTE, SECOND } from "../../../src/util/time.ts";
import { extraCalls } from "../scenarios/console.ts";
import { ACCOUNT, createKey } from "../scenarios.ts";
import { type Story, type StoryWorld, story, storyWith, unready } from "./story.ts";

const LOST = { kind: "Reset", when: "AfterCommit" } as const;
const refused = (status: number) => ({ kind: "Refuse", status }) as const;
const console = { shapes: { keyRecords: "empty" } } as const;
const listingNoKeys = storyWith({ console });
/** Nothing tells of a lost key if the list proves nothing. */
const inDoubt = { excuses: ["S5 accounting"] } as const;
const { deleteKey } = extraCalls;
/** An hour, by the same call as checks of keys. */
const CHECKS_OF_CONNECTION = 1;

function said(world: StoryWorld, condition = "Ready"): string {
  const { status, reason } = world.condition(apiKeyType, "ci", condition) ?? {};
  return `${status} ${reason}`;
}

function reconcile(world: StoryWorld, type: ResourceType, name: string): void {
  world.annotate(type, name, { [annotations.reconcileRequestedAt]: `${world.sim.kernel.elapsed}` });
}

/** Has the account's keys listed now. */
const list = (world: StoryWorld): void => reconcile(world, serviceAccountType, ACCOUNT);

/** An administrator deletes the key in use. */
function endKey(world: StoryWorld): void {
  world.sim.deleteKeyInConsole(world.secret().keyId ?? "");
}

function holdsLiveKey(world: StoryWorld, name = "ci"): boolean {
  return world.live.includes(world.secret(name).keyId ?? "");
}

function orphansOf(world: StoryWorld, name = "ci"): readonly string[] {
  return (world.key(name).status?.orphaned ?? []).map(({ keyId }) => keyId ?? "unknown");
}

const endedStories: readonly Story[] = [
  story("a key that was deleted in the console is replaced within a minute", async (world) => {
    await world.begin();
    endKey(world);
    list(world);
    await world.pass(5 * SECOND);
    world.expect("it is reported", said(world), "False KeyRefused");
    world.expect("as rejected", said(world, "Verified"), "False KeyRefused");
    const { message = "" } = world.condition(apiKeyType, "ci") ?? {};
    world.expect("with the cause", message.includes("deleted outside the operator"));
    await world.pass(MINUTE);
    world.expect("it was replaced", holdsLiveKey(world));
    world.expect("once", world.calls("issueKey"), 2);
    const states = (world.key().status?.superseded ?? []).map(({ state }) => state);
    world.expect("the old key does not count as live", states, ["Inactive"]);
    const told = world.events("ci").find((each) => each.startsWith("KeyRotated")) ?? "";
    world.expect("nor does an event say so", told.includes("stays valid"), false);
    world.expect("it says why", told.includes("no longer lists it"));
  }),
  story("no key is issued for an account that an administrator disabled", async (world) => {
    await world.begin();
    const [{ saId = "" } = {}] = [...world.sim.console.world.accounts.values()];
    world.sim.setAccountStatusInConsole(saId, "inactive");
    reconcile(world, apiKeyType, "ci");
    await world.pass(3 * MINUTE);
    world.expect("the reason", said(world, "IssuanceAllowed"), "False ServiceAccountNotReady");
    await world.pass(10 * MINUTE);
    world.expect("no other key was issued", world.issued, 1);
    world.sim.setAccountStatusInConsole(saId, "active");
    list(world);
    await world.pass(2 * MINUTE);
    world.expect("the key is in use again", said(world), "True KeyDelivered");
    world.expect("nor later", world.issued, 1);
  }),
  story("a request finds a deleted key before any list", async (world) => {
    await world.begin();
    await world.pass(30 * SECOND);
    endKey(world);
    await world.pass(5 * SECOND);
    world.expect("it is not noticed", said(world), "True KeyDelivered");
    reconcile(world, apiKeyType, "ci");
    await world.pass(SECOND);
    world.expect("it is reported", said(world), "False KeyRefused");
  }),
  story("a deleted key is found though the console is down at the check", async (world) => {
    await world.begin();
    endKey(world);
    world.fault("searchActions", refused(503), 3);
    list(world);
    await world.pass(2 * MINUTE);
    world.expect("it was replaced", holdsLiveKey(world));
  }),
  story("a deleted key is found though its successor is not accepted either", async (world) => {
    await world.begin();
    world.fault("searchActions", refused(401), 10_000);
    world.rotate("one");
    await world.pass(MINUTE);
    endKey(world);
    list(world);
    await world.pass(10 * SECOND);
    world.expect("it is reported", said(world, "Verified").startsWith("False"));
    await world.pass(57 * MINUTE);
    world.expect("the successor gets an hour", world.calls("issueKey"), 2);
    world.cease();
    await world.pass(2 * MINUTE);
    world.expect("it is delivered", holdsLiveKey(world));
  }),
  story("a deleted key is found though the console issues no successor", async (world) => {
    await world.begin();
    world.fault("issueKey", refused(403), 10_000);
    world.rotate("one");
    await world.pass(MINUTE);
    world.expect("it is in use", said(world), "True PermissionDenied");
    endKey(world);
    list(world);
    await world.pass(5 * SECOND);
    world.expect("it is reported", said(world), "False PermissionDenied");
    world.expect("as rejected", said(world, "Verified"), "False KeyRefused");
  }),
  story("a deleted key is found though its Secret cannot be written", async (world) => {
    await world.begin();
    world.fault("patch secrets", refused(422), 10_000);
    world.change(apiKeyType, "ci", { secret: { labels: { team: "a" } } });
    endKey(world);
    list(world);
    await world.pass(5 * SECOND);
    world.expect("it is reported", said(world), "False Invalid");
    world.expect("as rejected", said(world, "Verified"), "False KeyRefused");
  }),
  story("a key in order is not checked again", async (world) => {
    await world.begin();
    const calls = world.calls("searchActions");
    await world.pass(6 * HOUR);
    world.expect(
      "only the connection is checked",
      world.calls("searchActions") - calls <= CHECKS_OF_CONNECTION * 6,
    );
  }),
];

const unlistedStories: readonly Story[] = [
  listingNoKeys("a key that works is checked ever more rarely if no list has it", async (world) => {
    await world.begin();
    const before = world.calls("searchActions");
    const checks = () => world.calls("searchActions") - before;
    await world.pass(10 * MINUTE);
    world.expect("at first", checks() >= 3 && checks() <= 6);
    await world.pass(6 * HOUR);
    world.expect("later", checks() <= 6 + 4 + 6 + CHECKS_OF_CONNECTION * 6);
    world.expect("no other key was issued", world.issued, 1);
  }),
  listingNoKeys("a key that no list has is replaced when it stops working", async (world) => {
    await world.begin();
    await world.pass(3 * HOUR);
    endKey(world);
    await world.pass(62 * MINUTE);
    world.expect("it was replaced", holdsLiveKey(world));
  }),
  listingNoKeys("a lost key is assumed if the list lacks the key in use", async (world) => {
    await world.begin();
    const { keyId } = world.secret();
    world.fault("issueKey", LOST);
    world.rotate("one");
    await world.pass(2 * MINUTE);
    world.expect("a key of unknown id", orphansOf(world), ["unknown"]);
    const words = `lacks ${keyId}, which is in use, so the list proves nothing`;
    world.expect("an event says why", world.events("ci").join().includes(words));
    world.expect("the rotation goes on", holdsLiveKey(world));
  }),
  listingNoKeys(
    "a lost key is assumed if the list lacks the key of another ApiKey",
    async (world) => {
      await world.begin();
      world.fault("issueKey", LOST);
      createKey(world.sim, "two");
      await world.pass(2 * MINUTE);
      world.expect("a key of unknown id", orphansOf(world, "two"), ["unknown"]);
      world.expect("another one was issued", holdsLiveKey(world, "two"));
    },
  ),
  unready(
    "a list that lacks the key of a deleted ApiKey proves nothing",
    async (world) => {
      await world.begin({ connection: { extraCalls: { deleteKey } } });
      world.fault("deleteKey", refused(403), 1_000);
      world.sim.delete(apiKeyType, "ci");
      await world.pass(SECOND);
      world.fault("issueKey", LOST);
      createKey(world.sim, "two");
      await world.pass(2 * MINUTE);
      world.expect("it still waits", world.sim.get(apiKeyType, "ci") !== undefined);
      world.expect("no lost key is assumed", orphansOf(world, "two"), []);
    },
    { console: { ...console, extraCalls }, ...inDoubt },
  ),
  listingNoKeys(
    "the first key of an account stays in doubt if no list has keys",
    async (world) => {
      world.fault("issueKey", LOST);
      await world.begin();
      await world.pass(2 * MINUTE);
      world.expect("no lost key is assumed", orphansOf(world), []);
      world.expect("another one was issued", world.secret().keyId, world.live[1]);
    },
    inDoubt,
  ),
  unready(
    "an empty list does not hold up a deletion",
    async (world) => {
      await world.begin({ connection: { extraCalls: { deleteKey } } });
      world.rotate("one");
      await world.pass(MINUTE);
      world.sim.delete(apiKeyType, "ci");
      await world.pass(MINUTE);
      world.expect("it is gone", world.sim.get(apiKeyType, "ci"), undefined);
      world.expect("both keys were ended", world.live, []);
    },
    { console: { ...console, extraCalls } },
  ),
];

export const verificationStories: readonly Story[] = [...endedStories, ...unlistedStories];
