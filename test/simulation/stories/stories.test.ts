import { expect, test } from "vitest";
import { allStories } from "./all-stories.ts";
import { type Story, violationsIn } from "./story.ts";

const [sound, open] = [
  allStories.filter(({ knownBug }) => knownBug === undefined),
  allStories.filter(({ knownBug }) => knownBug !== undefined),
];

test.each(sound)("$name", expectTrue);

test.fails.each(open)("$name, but: $knownBug", expectTrue);

test("stories have different names", () => {
  expect(new Set(allStories.map(({ name }) => name)).size).toBe(allStories.length);
});

async function expectTrue(story: Story): Promise<void> {
  expect(await violationsIn(story)).toEqual([]);
}
