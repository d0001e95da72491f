/** One field of one status is edited while the operator is down, and objects are deleted with it. */

import { MINUTE } from "../../../src/util/time.ts";
import { problemOf } from "../../api-server/schema.ts";
import { type Tree, treeAt } from "../../api-server/tree.ts";
import { noiseSince } from "../invariants/at-rest.ts";
import { extraCalls } from "../scenarios/console.ts";
import { type Story, StoryWorld, unready } from "../stories/story.ts";
import { type Edit, edited, editsOf } from "./edits.ts";
import { lossOf, lostKeys, type Truth, truthsOf } from "./truth.ts";
import { converge, type Group, groups, type Place } from "./world.ts";

const deletions = ["nothing", "the others", "its own group"] as const;

interface EditOf {
  readonly group: Group;
  readonly place: Place;
  readonly edit: Edit;
  readonly deleted: (typeof deletions)[number];
}

/** Fields that nothing else tells: an edit is believed. */
const believed = new Set([
  // When an overlap began.
  "superseded.supersededTime",
]);

/** In twenty minutes: a condition names the last failed call. */
const MOST_WRITES = 3;

const options = {
  console: { extraCalls },
  // Two connections log in; and some invariants find an account by its status.
  excuses: [
    // Holds for one connection.
    "S19 logins",
    // These take the edited status for the truth, or the edit for a change by the operator.
    "S3 retirement",
    "S6 lost once",
    "S7 order",
    "S11 reads",
    "S11 S20 releases",
    "S16 generation",
    "S16 key times",
    "S16 transitions",
  ],
};
const everything = Object.entries(groups) as [Group, readonly Place[]][];

/** One for each edit that the CRD lets pass, and for each choice of what is deleted. */
export async function editStories(): Promise<readonly Story[]> {
  const world = new StoryWorld(options);
  await converge(world);
  const places = everything.flatMap(([group, of]) => of.map((place) => ({ group, place })));
  const statuses = places.map(({ place }) => statusOf(world, place));
  return places.flatMap(({ group, place }) => {
    const status = statusOf(world, place);
    return editsOf(status, statuses)
      .filter(({ path }) => !believed.has(path.filter((key) => typeof key === "string").join(".")))
      .filter((edit) => isAccepted(world, place, edited(status, edit)))
      .flatMap((edit) =>
        deletions
          .filter((deleted) => group !== "connections" || deleted === "nothing")
          .map((deleted) => toStory({ group, place, edit, deleted })),
      );
  });
}

function statusOf({ sim }: StoryWorld, { type, name }: Place): Tree {
  return treeAt(sim.get(type, name) ?? {}, "status");
}

function isAccepted({ sim }: StoryWorld, { type }: Place, status: Tree): boolean {
  const { properties } = sim.kube.kindOf(type.group, type.plural).schema;
  return problemOf(properties?.status ?? {}, status) === undefined;
}

function toStory(what: EditOf): Story {
  return unready(nameOf(what), (world) => tell(world, what), options);
}

function nameOf({ place, edit: { path, value }, deleted }: EditOf): string {
  const becomes = value === undefined ? "removed" : `set to ${JSON.stringify(value)}`;
  return `${place.type.kind} ${place.name}: ${path.join(".")} ${becomes}, and ${deleted} deleted`;
}

async function tell(world: StoryWorld, what: EditOf): Promise<void> {
  await converge(world);
  const gone = everything.filter(([group]) => isDeleted(group, what)).flatMap(([, of]) => of);
  const kept = everything.flatMap(([, of]) => of).filter((place) => !gone.includes(place));
  const before = truthsOf(world, kept);
  world.happens({ kind: "Kill" });
  const { type, name } = what.place;
  const status = edited(statusOf(world, what.place), what.edit);
  world.sim.meddle(() => {
    const { status: answered } = world.sim.replaceStatus(type, name, status);
    world.expect("the edit is stored", answered, 200);
  });
  for (const { type, name } of gone) world.sim.delete(type, name);
  await world.pass(20 * MINUTE);
  expectKept(world, before);
  await world.pass(20 * MINUTE);
  const since = world.sim.kernel.elapsed;
  await world.pass(20 * MINUTE);
  // Superseded keys have been revoked.
  expectKept(
    world,
    before.map((truth) => ({ ...truth, keyIds: [] })),
  );
  const writes = noiseSince(world.sim, since).map(
    ({ operation, target }) => `${operation} ${target}`,
  );
  world.expect("at rest", writes.length > MOST_WRITES ? writes : [], []);
}

function expectKept(world: StoryWorld, before: readonly Truth[]): void {
  for (const truth of before) world.expect("nothing is lost", lossOf(world, truth), undefined);
  world.expect("no key is lost silently", lostKeys(world), []);
}

function isDeleted(group: Group, { group: own, deleted }: EditOf): boolean {
  if (group === "connections" || deleted === "nothing") return false;
  return (group === own) === (deleted === "its own group");
}
