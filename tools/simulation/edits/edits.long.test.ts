import { setImmediate as eventLoopTurned } from "node:timers/promises";
import { expect, test } from "vitest";
import { violationsIn } from "../stories/story.ts";
import { editStories } from "./stories.ts";

test("no edit of a status takes anything from anybody", { timeout: 3_600_000 }, async () => {
  const broken: string[] = [];
  for (const story of await editStories()) {
    const found = await violationsIn(story);
    broken.push(...found.map(({ invariant, what }) => `${story.name} | ${invariant}: ${what}`));
    await eventLoopTurned();
  }
  expect(broken).toEqual([]);
});
