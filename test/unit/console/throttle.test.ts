import { expect, test } from "vitest";
import { throttle } from "../../../src/console/client/throttle.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

test.each([
  { duration: 0, pause: 0 },
  { duration: 10, pause: 40 },
  { duration: 50, pause: 200 },
  { duration: 3_000, pause: 200 },
])("after a call of $duration ms there is none for $pause ms", async ({ duration, pause }) => {
  const clock = createFakeClock();
  const starts: number[] = [];
  const list = throttle({ clock, maxPauseMs: 200 }, async () => {
    starts.push(clock.monotonic());
    await clock.sleep(duration);
  });
  const both = Promise.all([list(), clock.sleep(1).then(() => list())]);
  await clock.advance(10_000);
  await both;
  expect(starts).toEqual([0, Math.max(1, duration + pause)]);
});
