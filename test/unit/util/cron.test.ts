import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hasRun, isCron, nextOpen } from "../../../src/util/cron.ts";
import { effort } from "../../setup/effort.ts";

const NOW = Date.UTC(2026, 0, 1);
const search = (schedule: string) =>
  nextOpen({ schedule, timeZone: "UTC", durationMs: 0 }, NOW) !== undefined;

describe("a schedule has a run", () => {
  test.each([
    ["0 0 30 2 *", false],
    ["0 0 31 2,4,6,9,11 *", false],
    ["0 0 31 FEB *", false],
    ["0 0 30-31 2 *", false],
    ["0 0 29 2 *", true],
    ["0 0 29-31 2 *", true],
    ["0 0 31 * *", true],
    ["0 0 */30 2 *", true],
    ["0 0 30-31/1 feb-mar *", true],
    ["0 0 30 2 1", true],
    ["0 0 L 2 *", true],
  ])("%s: %s", (schedule, expected) => {
    expect(isCron(schedule)).toBe(true);
    expect(hasRun(schedule)).toBe(expected);
    expect(search(schedule)).toBe(expected);
  });

  test("exactly if a search through the calendar finds one", () => {
    const day = fc.integer({ min: 27, max: 31 });
    const month = fc.constantFrom("2", "4", "FEB", "jun", "9", "11", "2-2", "*/2", "2,4", "*");
    const days = fc.oneof(
      day.map(String),
      fc.tuple(day, day).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
      fc.tuple(day, day).map(([a, b]) => `${a},${b}`),
      day.map((first) => `${first}-31/2`),
    );
    const weekday = fc.constantFrom("*", "*", "*", "1", "1-5", "SUN");
    fc.assert(
      fc.property(days, month, weekday, (d, m, w) => {
        const schedule = `0 3 ${d} ${m} ${w}`;
        if (isCron(schedule)) expect(hasRun(schedule), schedule).toBe(search(schedule));
      }),
      { numRuns: 150 * effort },
    );
  });

  test("costs next to nothing to tell", () => {
    const before = process.cpuUsage();
    for (let run = 0; run < 1_000; run += 1) hasRun(`${run % 60} 0 31 2,4,6,9,11 *`);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(500);
  });
});
