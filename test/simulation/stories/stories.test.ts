import { expect, test } from "vitest";
import { allStories } from "./all-stories.ts";
import { violationsIn } from "./story.ts";

test.each(allStories)("$name", async (story) => {
  expect(await violationsIn(story)).toEqual([]);
});

test("stories have different names", () => {
  expect(new Set(allStories.map(({ name }) => name)).size).toBe(allStories.length);
});
