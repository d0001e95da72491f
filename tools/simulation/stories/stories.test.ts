import { expect, test } from "vitest";
import { MINUTE } from "../../../src/util/time.ts";
import { allStories } from "./all-stories.ts";
import { violationsIn } from "./story.ts";

/** A story takes fractions of a second of the processor, or two seconds; others may be busy as well. */
const PATIENCE_MS = 2 * MINUTE;

test.each(allStories)(
  "$name",
  async (story) => {
    expect(await violationsIn(story)).toEqual([]);
  },
  PATIENCE_MS,
);

test("stories have different names", () => {
  expect(new Set(allStories.map(({ name }) => name)).size).toBe(allStories.length);
});
