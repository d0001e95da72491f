/** Rotation: what becomes of the pairs that consumers read, and of the keys that were replaced. */
import { secretType } from "../../../src/kube/resource-types.ts";
import { apiKeyType } from "../../../src/resources/resource-types.ts";
import { MINUTE, SECOND } from "../../../src/util/time.ts";
import type { Tree } from "../../api-server/tree.ts";
import { extraCalls } from "../scenarios/console.ts";
import { type Story, type StoryOptions, type StoryWorld, story } from "./story.ts";

const refused = (status: number) => ({ kind: "Refuse", status }) as const;
const withExtraCalls: StoryOptions = { console: { extraCalls } };
const previous = {
  data: { keyId: "${keyId}", secret: "${secret}", previousKeyId: "${previousKeyId}" },
};

async function beginWithExtraCalls(world: StoryWorld, key: Tree = {}, calls: Tree = extraCalls) {
  await world.begin({ connection: { extraCalls: calls }, key });
}

function supersededOf(world: StoryWorld): readonly string[] {
  return (world.key().status?.superseded ?? []).map(({ keyId }) => keyId);
}

export const rotationStories: readonly Story[] = [
  story("the previous pair is shown until the overlap is over", async (world) => {
    const data = { ...previous.data, old: "${previousKeyId}/${previousSecret}" };
    await world.begin({ key: { secret: { data }, rotation: { overlap: "10m" } } });
    const { keyId: first, secret, old } = world.secret();
    world.expect("none is shown at first", old, "/");
    world.rotate("one");
    await world.pass(2 * MINUTE);
    world.expect("the previous pair is shown", world.secret().old, `${first}/${secret}`);
    await world.pass(7 * MINUTE);
    world.expect("for the whole overlap", world.secret().old, `${first}/${secret}`);
    world.expect("it is listed", supersededOf(world), [first]);
    await world.pass(5 * MINUTE);
    world.expect("and no longer shown", world.secret().old, "/");
  }),
  ...["lost", "kept"].map((fate) =>
    story(
      `the previous pair of a status that is ${fate} is shown for the overlap`,
      async (world) => {
        const data = { ...previous.data, old: "${previousKeyId}/${previousSecret}" };
        await world.begin({ key: { secret: { data }, rotation: { overlap: "30m" } } });
        const { keyId: first, secret } = world.secret();
        world.rotate("one");
        await world.pass(2 * MINUTE);
        if (fate === "lost")
          world.sim.meddle(() => world.sim.patch(apiKeyType, "ci", { status: null }, "status"));
        await world.pass(20 * MINUTE);
        world.expect("it is shown", world.secret().old, `${first}/${secret}`);
        await world.pass(15 * MINUTE);
        world.expect("and no longer shown", world.secret().old, "/");
      },
    ),
  ),
  story("a lost Secret is written once, with the ID of the key that it held", async (world) => {
    await world.begin({ key: { secret: previous, rotation: { overlap: "1h" } } });
    const { keyId: first } = world.secret();
    world.sim.meddle(() => world.sim.delete(secretType, "ci"));
    await world.pass(7 * MINUTE);
    world.expect("the previous ID is shown", world.secret().previousKeyId, first);
    world.expect("by the first write", world.calls("patch secrets"), 0);
  }),
  story(
    "an edit that breaks the previous pair ends it, and the event says so",
    async (world) => {
      const data = { ...previous.data, old: "${previousKeyId}/${previousSecret}" };
      await world.begin({ key: { secret: { data }, rotation: { overlap: "10m" } } });
      world.rotate("one");
      await world.pass(2 * MINUTE);
      world.sim.patch(secretType, "ci", { stringData: { old: "text" } });
      await world.pass(6 * MINUTE);
      world.expect("it is no longer shown", world.secret().old, "/");
      const told = world.events("ci").join(" ");
      world.expect("why", told.includes("without the pair of the superseded key"));
    },
    { excuses: ["S3 retirement"] },
  ),
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
    "a new key that is refused is not delivered",
    async (world) => {
      await world.begin();
      const [first] = world.live;
      world.fault("searchActions", refused(401), 1_000);
      world.rotate("one");
      await world.pass(5 * MINUTE);
      world.expect("the Secret holds the first key", world.secret().keyId, first);
    },
    { endsReady: false, excuses: ["pending removed", "S5 accounting"] },
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
