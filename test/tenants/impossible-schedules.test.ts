/** Rotation windows that never open: to find that out takes long, so it is done once. */
import { expect, test } from "vitest";
import { nextOpen } from "../../src/util/cron.ts";
import { DAY, MINUTE } from "../../src/util/time.ts";

const NOW = Date.UTC(2026, 0, 1);
const zones = ["UTC", "Europe/Berlin", "Asia/Tokyo", "America/New_York"];
/** Sixteen windows, as many as an ApiKey may have. */
const windows = zones.flatMap((timeZone) =>
  ["0 0 30 2 *", "0 0 31 2 *", "0 0 31 4,6,9,11 *", "5 5 31 11 *"].map((schedule) => ({
    schedule,
    timeZone,
    durationMs: MINUTE,
  })),
);

test("a hundred reconciles of sixteen impossible windows cost next to nothing", () => {
  for (const window of windows) expect(nextOpen(window, NOW)).toBeUndefined();
  const before = process.cpuUsage();
  for (let run = 0; run < 100; run += 1) {
    for (const window of windows) expect(nextOpen(window, NOW + run * DAY)).toBeUndefined();
  }
  const { user, system } = process.cpuUsage(before);
  // Each of the 1,600 took 7 ms.
  expect((user + system) / 1_000).toBeLessThan(1_000);
});

test("what was found before is only used where it is still the next run", () => {
  const daily = { schedule: "0 2 * * *", timeZone: "UTC", durationMs: 0 };
  const at = (day: number, hour: number) => Date.UTC(2026, 0, day, hour);
  const expected: readonly [number, number][] = [
    [at(1, 0), at(1, 2)],
    [at(1, 1), at(1, 2)],
    [at(1, 2), at(2, 2)],
    [at(3, 0), at(3, 2)],
    [at(1, 0), at(1, 2)],
  ];
  for (const [from, next] of expected) expect(nextOpen(daily, from)).toBe(next);
});
