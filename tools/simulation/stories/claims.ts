/** Several ApiKeys that name one Secret: one gets a key, the others are told before a key is issued for them. */

import { secretType } from "../../../src/kube/resource-types.ts";
import { apiKeyType } from "../../../src/resources/resource-types.ts";
import { MINUTE, SECOND } from "../../../src/util/time.ts";
import type { Tree } from "../../api-server/tree.ts";
import { createAll, createKey, inNamespace } from "../scenarios.ts";
import { type Story, type StoryWorld, story, storyWith } from "./story.ts";

/** A Secret may have the name of another one's pending Secret. */
const claiming = storyWith({ endsReady: false, excuses: ["pending removed"] });
const named = (name: string) => ({ secret: { name } });

/** ApiKeys that exist when the operator starts, the oldest first. */
async function beginWithTwo(world: StoryWorld, first: Tree, second: Tree, name = "two") {
  createAll(world.sim, { key: first });
  await world.pass(2 * SECOND);
  createKey(world.sim, name, second);
  world.sim.startOperator();
  await world.pass(MINUTE);
}

function conflictOf(world: StoryWorld, name: string): string {
  const { reason, message = "" } = world.condition(apiKeyType, name, "Stalled") ?? {};
  return `${reason}: ${message}`;
}

function expectConflict(world: StoryWorld, name: string, words: string): void {
  const said = conflictOf(world, name);
  world.expect(`${name} names the conflict`, said.startsWith("SecretConflict: "));
  world.expect(`${name} says: ${words}`, said.includes(words) ? words : said, words);
}

const pairs: readonly (readonly [what: string, first: Tree, second: Tree])[] = [
  ["both name the Secret", named("shared"), named("shared")],
  ["the first one has the Secret's name", {}, named("ci")],
  ["the second one has the Secret's name", named("two"), {}],
  ["the first one keeps new keys in the other's Secret", {}, named("ci-next")],
  ["the second one keeps new keys in the other's Secret", named("two-next"), {}],
];

export const claimStories: readonly Story[] = [
  ...pairs.map(([what, first, second]) =>
    claiming(`of two ApiKeys the older one gets a key: ${what}`, async (world) => {
      await beginWithTwo(world, first, second);
      world.expect("one key was issued", world.issued, 1);
      world.expect("the first is Ready", world.condition(apiKeyType, "ci")?.status, "True");
      expectConflict(world, "two", "belongs to ApiKey ci");
      expectConflict(world, "two", "Create this ApiKey again with another spec.secret.name.");
      world.expect("no attempt was recorded", world.key("two").status?.attempt, undefined);
    }),
  ),
  story("the second of two ApiKeys gets a key when the first one is gone", async (world) => {
    await beginWithTwo(world, named("shared"), named("shared"));
    world.sim.delete(apiKeyType, "ci");
    await world.pass(MINUTE);
    world.expect("the first is gone", world.sim.get(apiKeyType, "ci"), undefined);
    world.expect("the second is Ready", world.condition(apiKeyType, "two")?.status, "True");
    world.expect("two keys were issued", world.issued, 2);
  }),
  story("names that only look alike are no conflict", async (world) => {
    await beginWithTwo(world, named("a"), {}, "a-next-thing");
    world.expect("two keys were issued", world.issued, 2);
  }),
  story("a Secret of another ApiKey is to be deleted only if it is a copy", async (world) => {
    await world.begin();
    const { data, metadata } = world.sim.get(secretType, "ci") as { data: Tree; metadata: Tree };
    const labels = metadata.labels as Tree;
    world.sim.create(secretType, { metadata: { ...inNamespace("two"), labels }, data });
    createKey(world.sim, "two");
    await world.pass(MINUTE);
    expectConflict(world, "two", "can hold the only copy of a key of ApiKey ci.");
    expectConflict(world, "two", "Create this ApiKey again with another spec.secret.name.");
    world.sim.delete(secretType, "two");
    await world.pass(6 * MINUTE);
    world.expect("each has a key", world.live, [world.secret().keyId, world.secret("two").keyId]);
  }),
  claiming("an ApiKey whose key is in use is not to be deleted for a conflict", async (world) => {
    await world.begin();
    const key = world.secret();
    world.sim.create(secretType, { metadata: inNamespace("ci-next"), stringData: { mine: "yes" } });
    world.rotate("one");
    await world.pass(6 * MINUTE);
    const { message = "" } = world.condition(apiKeyType, "ci", "IssuanceAllowed") ?? {};
    world.expect("what to do first", message.includes("let the workloads use its Secret, then"));
    world.expect("the key stays", world.secret(), key);
  }),
  story("a Secret that another ApiKey's was copied over is written again", async (world) => {
    await world.begin();
    createKey(world.sim, "two");
    await world.pass(MINUTE);
    const before = world.secret("two");
    const { data, metadata } = world.sim.get(secretType, "two") as { data: Tree; metadata: Tree };
    const { labels, annotations, ownerReferences } = metadata;
    const copied = { labels, annotations, ownerReferences };
    world.sim.meddle(() => {
      world.sim.delete(secretType, "ci");
      world.sim.create(secretType, { metadata: { ...inNamespace("ci"), ...copied }, data });
    });
    await world.pass(6 * MINUTE);
    expectConflict(
      world,
      "ci",
      "Only if ApiKey two is Ready with a Secret of another name, Secret ci is a copy",
    );
    const verified = world.condition(apiKeyType, "ci", "Verified");
    world.expect(
      "not checked",
      [verified?.status, verified?.reason],
      ["Unknown", "SecretReplaced"],
    );
    world.sim.meddle(() => world.sim.delete(secretType, "ci"));
    await world.pass(6 * MINUTE);
    world.expect("it has a new key", world.secret().keyId, world.live[2]);
    world.expect("the other keeps its own", world.secret("two"), before);
    world.expect(
      "both are Verified",
      world.condition(apiKeyType, "ci", "Verified")?.status,
      "True",
    );
  }),
];
