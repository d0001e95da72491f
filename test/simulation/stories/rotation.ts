/** Rotation: what becomes of the pairs that consumers read, and of the keys that were replaced. */
import { apiKeyType } from "../../../src/controllers/resource-types.ts";
import { secretType } from "../../../src/kube/resource-types.ts";
import { HOUR, MINUTE, SECOND } from "../../../src/util/time.ts";
import type { Tree } from "../../support/api-server/tree.ts";
import { extraCalls } from "../scenarios/console.ts";
import { type Story, type StoryOptions, type StoryWorld, story } from "./story.ts";

const refused = (status: number) => ({ kind: "Refuse", status }) as const;
const withExtraCalls: StoryOptions = { console: { extraCalls } };
const onlyDeletes = { deleteKey: extraCalls.deleteKey };
const previous = {
  data: { keyId: "${keyId}", secret: "${secret}", previousKeyId: "${previousKeyId}" },
};

async function beginWithExtraCalls(world: StoryWorld, key: Tree = {}, calls: Tree = extraCalls) {
  await world.begin({ connection: { extraCalls: calls }, key });
}

/** A Secret is restored from a backup. */
function putBack(world: StoryWorld, old: Tree): void {
  const { data, metadata } = old as { data: Tree; metadata: Tree };
  world.sim.meddle(() =>
    world.sim.patch(secretType, "ci", {
      data,
      metadata: { annotations: metadata.annotations ?? {} },
    }),
  );
}

function supersededOf(world: StoryWorld): readonly string[] {
  return (world.key().status?.superseded ?? []).map(({ keyId }) => keyId);
}

function statesOf(world: StoryWorld) {
  return world.key().status?.superseded?.map(({ state }) => state);
}

export const rotationStories: readonly Story[] = [
  story("the previous pair is shown until the overlap is over", async (world) => {
    await world.begin({ key: { secret: previous, rotation: { overlap: "10m" } } });
    const first = world.secret().keyId;
    world.rotate("one");
    await world.pass(2 * MINUTE);
    world.expect("the previous key is shown", world.secret().previousKeyId, first);
    world.expect("it is listed", supersededOf(world), [first]);
    await world.pass(15 * MINUTE);
    world.expect("and no longer shown", world.secret().previousKeyId, "");
  }),
  story(
    "an overlap of nothing lasts five minutes",
    async (world) => {
      const rotation = { overlap: "0s" };
      await beginWithExtraCalls(world, { secret: previous, rotation });
      world.rotate("one");
      await world.pass(4 * MINUTE);
      world.expect("both keys work", world.live.length, 2);
      world.expect("the previous one is shown", world.secret().previousKeyId, world.live[0]);
      await world.pass(10 * MINUTE);
      world.expect("the previous one was ended", world.live.length, 1);
    },
    withExtraCalls,
  ),
  story(
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
    { ...withExtraCalls, endsReady: false },
  ),
  story(
    "a 404 does not prove that a listed key is gone",
    async (world) => {
      await beginWithExtraCalls(world, {}, onlyDeletes);
      world.fault("deleteKey", refused(404));
      world.rotate("one");
      await world.pass(3 * HOUR);
      world.expect("the old key was ended", world.live.length, 1);
    },
    withExtraCalls,
  ),
  story(
    "an old key that is gone is not ended again and again",
    async (world) => {
      await beginWithExtraCalls(world);
      world.rotate("one");
      await world.pass(2 * MINUTE);
      world.sim.console.world.deleteKey(world.live[0] ?? "");
      await world.pass(2 * HOUR);
      world.expect("it is listed as deleted", statesOf(world), ["Deleted"]);
    },
    withExtraCalls,
  ),
  story(
    "a key that cannot be disabled is deleted",
    async (world) => {
      await beginWithExtraCalls(world);
      world.fault("disableKey", refused(422), 100);
      world.rotate("one");
      await world.pass(3 * HOUR);
      world.expect("the old key was deleted", world.live.length, 1);
    },
    withExtraCalls,
  ),
  story(
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
    { ...withExtraCalls, endsReady: false, excuses: ["S2 no gap", "L5 repair"] },
  ),
  story(
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
    { ...withExtraCalls, endsReady: false, excuses: ["L5 repair", "staging removed"] },
  ),
  story(
    "the old key is kept while the Secret holds it again",
    async (world) => {
      await beginWithExtraCalls(world, { maxIssuesPerDay: 2 });
      const before = world.sim.get(secretType, "ci") ?? {};
      const [first = ""] = world.live;
      world.rotate("one");
      await world.pass(2 * MINUTE);
      putBack(world, before);
      await world.pass(2 * HOUR);
      world.expect("the Secret holds the first key", world.secret().keyId, first);
      world.expect("the first key still works", world.live.includes(first));
    },
    { ...withExtraCalls, endsReady: false, excuses: ["L5 repair", "staging removed"] },
  ),
  story("an old Secret that is put back is replaced by the new one", async (world) => {
    await world.begin({ key: { rotation: { overlap: "1h" } } });
    const old = world.sim.get(secretType, "ci") ?? {};
    world.rotate("one");
    await world.pass(2 * MINUTE);
    const current = world.secret().keyId;
    putBack(world, old);
    await world.pass(15 * MINUTE);
    world.expect(
      "status names the new key or a newer one",
      world.key().status?.current?.keyId !== current ? world.issued : 2,
      world.issued,
    );
    world.expect("revision did not fall", (world.key().status?.current?.revision ?? 0) >= 2);
    world.expect(
      "the Secret holds the current key",
      world.secret().keyId,
      world.key().status?.current?.keyId,
    );
  }),
  story(
    "an old Secret that is put back is replaced even if its key has left the status",
    async (world) => {
      await world.begin();
      const old = world.sim.get(secretType, "ci") ?? {};
      world.rotate("one");
      await world.pass(MINUTE);
      world.sim.meddle(() =>
        world.sim.patch(apiKeyType, "ci", { status: { superseded: null } }, "status"),
      );
      await world.pass(MINUTE);
      putBack(world, old);
      await world.pass(MINUTE);
      world.expect("the Secret holds another key", world.secret().keyId !== world.live[0]);
    },
    { excuses: ["S5 accounting", "S5 books in time"] },
  ),
  story("times that somebody edits in the Secret are not believed", async (world) => {
    await world.begin();
    const { expirationTime } = world.key().status?.current ?? {};
    world.sim.meddle(() =>
      world.annotate(secretType, "ci", {
        "iam-operator.io/expiration-time": "2026-01-02T00:00:00Z",
        "iam-operator.io/issue-time": "2025-06-01T00:00:00Z",
      }),
    );
    await world.pass(15 * MINUTE);
    world.expect(
      "the expiry is as it was",
      world.key().status?.current?.expirationTime,
      expirationTime,
    );
    const { metadata } = world.sim.get(secretType, "ci") as { metadata: { annotations: Tree } };
    world.expect(
      "the Secret says so again",
      metadata.annotations["iam-operator.io/expiration-time"],
      expirationTime,
    );
    world.expect("no key was issued", world.issued, 1);
  }),
  story("a pair that somebody tore is replaced", async (world) => {
    await world.begin();
    world.happens({ kind: "EditSecret", how: "TearPair" });
    await world.pass(15 * MINUTE);
    const { keyId = "", secret = "" } = world.secret();
    world.expect("the Secret holds a pair", world.sim.console.world.isPair(keyId, secret));
  }),
  story("entries and labels that are no longer declared are removed", async (world) => {
    const secret = {
      data: { keyId: "${keyId}", secret: "${secret}", extra: "${saId}" },
      labels: { a: "1" },
    };
    await world.begin({ key: { secret } });
    world.sim.patch(secretType, "ci", { metadata: { labels: { theirs: "yes" } } });
    world.change(apiKeyType, "ci", { secret: { data: { extra: null }, labels: { a: null } } });
    await world.pass(7 * MINUTE);
    world.expect("entries", Object.keys(world.secret()).sort(), ["keyId", "secret"]);
    const { labels } = (world.sim.get(secretType, "ci")?.metadata ?? {}) as { labels: Tree };
    world.expect("labels", [labels.a, labels.theirs], [undefined, "yes"]);
  }),
  story(
    "a new key that is refused is not delivered",
    async (world) => {
      await world.begin();
      const [first] = world.live;
      world.fault("searchActions", refused(401), 1_000);
      world.rotate("one");
      await world.pass(5 * MINUTE);
      world.expect("the Secret holds the first key", world.secret().keyId, first);
    },
    { endsReady: false, excuses: ["staging removed", "S5 accounting"] },
  ),
  story(
    "a new key takes a while until the console knows it",
    async (world) => {
      await world.begin();
      world.rotate("one");
      await world.pass(10 * MINUTE);
      world.expect("two keys were issued", world.issued, 2);
    },
    { console: { keyPropagationMs: 40 * SECOND } },
  ),
  story(
    "a key that cannot be written is written within minutes",
    async (world) => {
      world.fault("create secrets", refused(422), 3);
      await world.begin();
      await world.pass(20 * MINUTE);
      world.expect("the Secret is there", world.secret().keyId, world.live.at(-1));
    },
    { endsReady: false },
  ),
  story("a rotation request of any length happens once", async (world) => {
    await world.begin();
    world.rotate("x".repeat(5_000));
    await world.pass(10 * MINUTE);
    world.expect("two keys were issued", world.issued, 2);
  }),
  story("a suspended ApiKey is left as it is", async (world) => {
    await world.begin();
    world.change(apiKeyType, "ci", { suspend: true });
    await world.pass(MINUTE);
    world.rotate("one");
    await world.pass(10 * MINUTE);
    world.expect("no key was issued", world.issued, 1);
    world.change(apiKeyType, "ci", { suspend: false });
    await world.pass(MINUTE);
    world.expect("then one was", world.issued, 2);
  }),
];
