/** The forecast of the next key under any two circumstances; the stories have each alone. */
import { expect, test } from "vitest";
import { circumstances, forecastStory } from "./stories/forecasts.ts";
import { violationsIn } from "./stories/story.ts";

const pairs = circumstances.flatMap((one, index) =>
  circumstances.slice(index + 1).map((other) => forecastStory(one, other)),
);

test.each(pairs)("$name", async (pair) => {
  expect(await violationsIn(pair)).toEqual([]);
});
