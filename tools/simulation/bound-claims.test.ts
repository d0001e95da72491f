/** What statuses say of the bound policies under any circumstance, and under any two. */
import { expect, test } from "vitest";
import { boundCircumstances, boundStory } from "./stories/bound-claims.ts";
import { violationsIn } from "./stories/story.ts";

const situations = boundCircumstances.flatMap((one, index) => [
  boundStory(one),
  ...boundCircumstances.slice(index + 1).map((other) => boundStory(one, other)),
]);

test.each(situations)("$name", async (situation) => {
  expect(await violationsIn(situation)).toEqual([]);
});
