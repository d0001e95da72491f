import { expect, test } from "vitest";
import { MINUTE } from "../../../src/util/time.ts";
import { violationsIn } from "../stories/story.ts";
import { editStories } from "./stories.ts";

/** Whose account an object has; and some of everything else, which `edits.long.test.ts` has. */
const ACCOUNT = /^ServiceAccount (ci-bot|imported): (saId|orgId) /;
const EVERY = 80;

const stories = await editStories();
const some = stories.filter(({ name }, index) => ACCOUNT.test(name) || index % EVERY === 0);

test.each(some)(
  "$name",
  async (story) => expect(await violationsIn(story)).toEqual([]),
  2 * MINUTE,
);

test("every status is edited", () => {
  const edited = new Set(stories.map(({ name }) => name.split(":")[0]));
  expect(edited.size).toBe(14);
  expect(stories.length).toBeGreaterThan(3_000);
});
