/** Keys that were replaced: when the operator ends them, and what a refusal to end one leaves alone. */

import { secretType } from "../../../src/kube/resource-types.ts";
import { apiKeyType, clusterConnectionType } from "../../../src/resources/resource-types.ts";
import { HOUR, MINUTE, SECOND } from "../../../src/util/time.ts";
import type { Tree } from "../../api-server/tree.ts";
import { extraCalls } from "../scenarios/console.ts";
import { inNamespace } from "../scenarios.ts";
import { putBack } from "./secrets.ts";
import { type Story, type StoryWorld, storyWith } from "./story.ts";

const refused = (status: number) => ({ kind: "Refuse", status }) as const;
const retiring = storyWith({ console: { extraCalls } });
const ending = storyWith({ console: { extraCalls }, endsReady: false });
const { disableKey, deleteKey } = extraCalls;
const onlyDeletes = { deleteKey };
const single = [
  ["disableKey", { disableKey }],
  ["deleteKey", { deleteKey }],
] as const;

async function beginWithExtraCalls(world: StoryWorld, key: Tree = {}, calls: Tree = extraCalls) {
  await world.begin({ connection: { extraCalls: calls }, key });
}

/** The overlap with the old key is almost over. */
async function beginAndRotate(world: StoryWorld, calls: Tree = extraCalls): Promise<void> {
  await beginWithExtraCalls(world, {}, calls);
  world.rotate("one");
  await world.pass(4 * MINUTE);
}

function statesOf(world: StoryWorld) {
  return world.key().status?.superseded?.map(({ state }) => state);
}

function said(world: StoryWorld): string {
  const { status, reason } = world.condition(apiKeyType, "ci") ?? {};
  return `${status} ${reason}`;
}

const refusals: readonly Story[] = [
  ...[404, 409, 412, 422].map((status) =>
    retiring(`a key that cannot be disabled is deleted (${status})`, async (world) => {
      await beginAndRotate(world);
      world.fault("disableKey", refused(status), 100);
      await world.pass(3 * MINUTE);
      world.expect("the old key was deleted", world.live.length, 1);
      world.expect("it is listed as deleted", statesOf(world), ["Deleted"]);
    }),
  ),
  retiring("a key that can be neither disabled nor deleted stays listed as live", async (world) => {
    await beginAndRotate(world, { disableKey });
    world.fault("disableKey", refused(409), 100);
    await world.pass(10 * MINUTE);
    world.expect("it is live", statesOf(world), ["Live"]);
  }),
  ...single.flatMap(([call, calls]) => [
    retiring(`an old key that is gone is not ended again and again by ${call}`, async (world) => {
      await beginAndRotate(world, calls);
      world.sim.console.world.deleteKey(world.live[0] ?? "");
      await world.pass(2 * HOUR);
      const [state = ""] = statesOf(world) ?? [];
      // The regular list may show it before the overlap is over, or the read before the call.
      world.expect("it is listed as ended", ["Deleted", "Inactive"].includes(state));
      world.expect("all is well", said(world), "True KeyDelivered");
    }),
    retiring(`a 404 of ${call} does not prove that a listed key is gone`, async (world) => {
      await beginAndRotate(world, calls);
      world.fault(call, refused(404));
      await world.until(() => world.calls(call) === 1);
      await world.pass(SECOND);
      world.expect("it is listed as live", statesOf(world), ["Live"]);
      world.expect("the console's words are reported", said(world), "True NotFound");
      await world.pass(3 * HOUR);
      world.expect("the old key was ended", world.live.length, 1);
    }),
  ]),
  retiring("a console that refuses to end a key is asked again within minutes", async (world) => {
    await beginAndRotate(world);
    world.fault("disableKey", refused(403));
    await world.until(() => world.calls("disableKey") === 1);
    await world.pass(SECOND);
    world.expect("the refusal is reported", said(world), "True PermissionDenied");
    world.expect("the key is live", statesOf(world), ["Live"]);
    await world.pass(6 * MINUTE);
    world.expect("then it was ended", statesOf(world), ["Deleted"]);
  }),
];

const keptStories: readonly Story[] = [
  ending(
    "an old key that the console refuses to delete does not stop the care for the new one",
    async (world) => {
      await beginWithExtraCalls(world, {}, onlyDeletes);
      world.rotate("one");
      await world.pass(2 * MINUTE);
      world.fault("deleteKey", refused(403), 100);
      await world.pass(10 * MINUTE);
      world.happens({ kind: "DeleteSecret" });
      await world.pass(15 * MINUTE);
      world.expect("the Secret is there again", world.secret().keyId, world.live.at(-1));
    },
  ),
  ending(
    "the old key is kept while the new one is gone from the console",
    async (world) => {
      await beginWithExtraCalls(world, { rotation: { overlap: "30m" } });
      const [first] = world.live;
      world.rotate("one");
      await world.pass(2 * MINUTE);
      world.sim.console.world.deleteKey(world.live[1] ?? "");
      world.fault("issueKey", refused(403), 1_000);
      await world.pass(2 * HOUR);
      world.expect("the first key still works", world.live.includes(first ?? ""));
    },
    { excuses: ["S2 no gap", "L5 repair"] },
  ),
  ending(
    "the old key is kept while the Secret lacks the new one",
    async (world) => {
      await beginWithExtraCalls(world);
      const [first] = world.live;
      world.rotate("one");
      await world.pass(2 * MINUTE);
      world.fault("create secrets", refused(403), 1_000);
      world.happens({ kind: "DeleteSecret" });
      await world.pass(30 * MINUTE);
      world.expect("the first key still works", world.live.includes(first ?? ""));
    },
    { excuses: ["L5 repair", "pending removed"] },
  ),
  ending(
    "the old key is kept while the Secret holds it again",
    async (world) => {
      await beginWithExtraCalls(world, { maxIssuesPerDay: 1 });
      const before = world.sim.get(secretType, "ci") ?? {};
      const [first = ""] = world.live;
      world.rotate("one");
      await world.pass(2 * MINUTE);
      putBack(world, before);
      await world.pass(2 * HOUR);
      world.expect("the Secret holds the first key", world.secret().keyId, first);
      world.expect("the first key still works", world.live.includes(first));
    },
    { excuses: ["L5 repair", "pending removed"] },
  ),
];

const deletions: readonly Story[] = [
  retiring("a key that the console will not end does not keep another one alive", async (world) => {
    await world.begin();
    for (const token of ["one", "two"]) {
      world.rotate(token);
      await world.pass(6 * MINUTE);
    }
    world.change(apiKeyType, "ci", { suspend: true });
    world.change(clusterConnectionType, "default", { extraCalls });
    await world.pass(MINUTE);
    world.fault("disableKey", refused(403));
    world.change(apiKeyType, "ci", { suspend: false });
    await world.until(() => world.calls("deleteKey") === 1);
    await world.pass(SECOND);
    world.expect("the other one was ended", statesOf(world), ["Live", "Deleted"]);
    world.expect("the refusal is reported", said(world), "True PermissionDenied");
    await world.pass(10 * MINUTE);
    world.expect("later both were", statesOf(world), ["Deleted", "Deleted"]);
  }),
  ending(
    "a key that the console will not end holds up a deletion, and not the end of the others",
    async (world) => {
      await beginAndRotate(world);
      world.fault("disableKey", refused(403));
      world.sim.delete(apiKeyType, "ci");
      await world.pass(SECOND);
      world.expect("the other one was ended", world.live.length, 1);
      world.expect("the deletion waits", world.sim.get(apiKeyType, "ci") !== undefined);
      await world.pass(10 * MINUTE);
      world.expect("later both were ended", world.live, []);
      world.expect("the ApiKey is gone", world.sim.get(apiKeyType, "ci"), undefined);
    },
  ),
  ...[refused(403), { kind: "Crash", when: "BeforeSend" } as const].map((fault) =>
    ending(
      `a deletion that ends its keys and then fails goes on where it was (${fault.kind})`,
      async (world) => {
        await beginAndRotate(world);
        world.fault("patch apikeys", fault);
        world.sim.delete(apiKeyType, "ci");
        await world.until(() => world.live.length === 0);
        world.expect("the deletion waits", world.sim.get(apiKeyType, "ci") !== undefined);
        await world.pass(MINUTE);
        world.expect("it is gone", world.sim.get(apiKeyType, "ci"), undefined);
      },
    ),
  ),
  ending("a Secret that is replaced during a deletion is not deleted", async (world) => {
    await world.begin();
    world.fault("delete secrets", { kind: "Slow", ms: 2 * SECOND });
    world.sim.delete(apiKeyType, "ci");
    await world.until(() => world.calls("delete secrets") === 2);
    world.sim.meddle(() => world.sim.delete(secretType, "ci"));
    world.sim.create(secretType, { metadata: inNamespace("ci"), stringData: { mine: "yes" } });
    await world.pass(MINUTE);
    world.expect("the Secret is as it was", world.secret(), { mine: "yes" });
  }),
];

export const retirementStories: readonly Story[] = [...refusals, ...keptStories, ...deletions];
