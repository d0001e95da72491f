/** Which time a process goes by if the clocks that it can see contradict each other. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  agreedClock,
  agreedTime,
  CLOCK_TOLERANCE_MS,
  certainTime,
  correctedTime,
  msUntil,
  readTime,
  remainingMs,
  undisputedTime,
  wallTime,
} from "../../../src/util/agreed-time.ts";
import { DAY, HOUR, type Instant, MINUTE } from "../../../src/util/time.ts";
import { effort } from "../../setup/effort.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const NOW: Instant = Date.UTC(2026, 0, 1);
const [EARLY, LATE] = [NOW - 70 * DAY, NOW + 70 * DAY];

describe("the agreed time", () => {
  test.each<[string, Parameters<typeof agreedTime>[0], Instant, Instant?]>([
    ["is the own time if no other clock is known", { wall: NOW }, NOW],
    [
      "is the own time while all clocks are close",
      { wall: NOW, apiServer: NOW - 5 * MINUTE, console: NOW + 5 * MINUTE },
      NOW,
    ],
    ["is the API server's if the own clock is ahead", { wall: LATE, apiServer: NOW }, NOW, NOW],
    [
      "is the API server's if the own clock is behind, but that is not certain",
      { wall: EARLY, apiServer: NOW },
      NOW,
      EARLY,
    ],
    [
      "is the time of both servers if the own clock is ahead",
      { wall: LATE, apiServer: NOW, console: NOW + MINUTE },
      NOW + MINUTE,
    ],
    [
      "is the time of both servers if the own clock is behind",
      { wall: EARLY, apiServer: NOW, console: NOW + MINUTE },
      NOW,
    ],
    [
      "is not the console's if it alone is behind, but that is not certain",
      { wall: NOW, apiServer: NOW, console: EARLY },
      NOW,
      EARLY,
    ],
    [
      "is not the console's if it alone is ahead",
      { wall: NOW, apiServer: NOW, console: LATE },
      NOW,
    ],
    [
      "is the earlier server's if the own clock is behind and no two clocks agree, but that is not certain",
      { wall: EARLY, apiServer: NOW, console: NOW + 2 * HOUR },
      NOW,
      NOW,
    ],
    [
      "is not the API server's if it alone is behind, but that is not certain",
      { wall: NOW, apiServer: EARLY, console: NOW },
      NOW,
      EARLY,
    ],
    [
      "is not the API server's if it alone is ahead",
      { wall: NOW, apiServer: LATE, console: NOW },
      NOW,
    ],
    ["is the middle one of three", { wall: LATE, apiServer: NOW, console: EARLY }, NOW, EARLY],
  ])("%s", (_, seen, now, earliest) => {
    expect(agreedTime(seen)).toEqual(earliest === undefined ? { now } : { now, earliest });
  });

  const instants = fc.integer({ min: EARLY, max: LATE });
  const clocks = fc.record({ wall: instants, apiServer: instants, console: instants });

  test("is shown by two of three clocks, within the tolerance", () => {
    fc.assert(
      fc.property(clocks, (seen) => {
        const { now } = agreedTime(seen);
        const shown = Object.values(seen);
        const early = shown.filter((time) => time <= now + CLOCK_TOLERANCE_MS);
        const late = shown.filter((time) => time >= now - CLOCK_TOLERANCE_MS);
        expect(early.length).toBeGreaterThanOrEqual(2);
        expect(late.length).toBeGreaterThanOrEqual(2);
      }),
      { numRuns: 500 * effort },
    );
  });

  test("is certain only if no server shows an earlier one", () => {
    fc.assert(
      fc.property(clocks, (seen) => {
        const certain = certainTime(agreedTime(seen));
        expect(certain).toBeLessThanOrEqual(
          Math.min(seen.apiServer, seen.console) + 2 * CLOCK_TOLERANCE_MS,
        );
      }),
      { numRuns: 500 * effort },
    );
  });

  test("does not follow one clock that moves while the others agree", () => {
    fc.assert(
      fc.property(fc.constantFrom("wall", "apiServer", "console"), instants, (clock, time) => {
        const seen = { wall: NOW, apiServer: NOW, console: NOW, [clock]: time };
        const { now } = agreedTime(seen);
        expect(Math.abs(now - NOW)).toBeLessThanOrEqual(CLOCK_TOLERANCE_MS);
        expect(certainTime(agreedTime(seen))).toBeLessThanOrEqual(NOW + CLOCK_TOLERANCE_MS);
      }),
      { numRuns: 500 * effort },
    );
  });
});

describe("a clock", () => {
  test("shows the agreed time of all clocks that it is given in turn, and keeps the rest", async () => {
    const base = createFakeClock();
    const start = base.now();
    const process = agreedClock(base, () => ({ apiServer: start + base.monotonic() }));
    const run = agreedClock(process, () => ({ console: start + base.monotonic() - DAY }));
    base.jump(70 * DAY);
    expect([wallTime(run), process.now(), run.now()]).toEqual([start + 70 * DAY, start, start]);
    expect(readTime(run)).toEqual({ now: start, earliest: start - DAY });
    expect(readTime(base)).toEqual({ now: start + 70 * DAY });
    let fired = 0;
    run.setTimer(1, () => {
      fired += 1;
    });
    const slept = run.sleep(2);
    await base.advance(2);
    await slept;
    expect([fired, run.monotonic()]).toEqual([1, 2]);
  });

  test.each([
    ["the process and the API server agree", MINUTE, true],
    ["they do not", HOUR, false],
  ])("has an undisputed time if %s", (_, aheadMs, isUndisputed) => {
    const base = createFakeClock();
    const clock = agreedClock(base, () => ({ apiServer: base.now() + aheadMs }));
    expect(undisputedTime(clock)).toBe(isUndisputed ? base.now() : undefined);
    expect(undisputedTime(base)).toBeUndefined();
  });
});

test.each<[string, Instant | undefined, Instant | undefined, Instant | undefined]>([
  ["in the past stays", NOW - DAY, undefined, NOW - DAY],
  ["of a clock that is a little ahead stays", NOW + 5 * MINUTE, undefined, NOW + 5 * MINUTE],
  ["in the future counts as now", NOW + 5 * MINUTE + 1, undefined, NOW],
  ["in the future stays while it is not certain how late it is", LATE, EARLY, LATE],
  ["that is absent stays absent", undefined, undefined, undefined],
])("a stored time %s", (_, stored, earliest, corrected) => {
  const at = earliest === undefined ? { now: NOW } : { now: NOW, earliest };
  expect(correctedTime(stored, at)).toBe(corrected);
});

test.each([
  ["has just begun", 0, HOUR],
  ["is half over", -HOUR / 2, HOUR / 2],
  ["is over", -DAY, 0],
  ["began a little later by a clock that runs ahead", 5 * MINUTE, HOUR],
  ["began before the clock was set back", DAY, 0],
])("of a pause that %s, the rest is left", (_, sinceMs, left) => {
  expect(remainingMs(NOW + sinceMs, HOUR, NOW)).toBe(left);
});

test.each<[string, number, Instant | undefined, number]>([
  ["is as far away as it is", HOUR, undefined, HOUR],
  ["has come", -HOUR, undefined, 0],
  ["has certainly come", -2 * DAY, NOW - DAY, 0],
  [
    "has come by some clocks is seen to when they can be compared again",
    -HOUR,
    NOW - DAY,
    5 * MINUTE,
  ],
  ["is near by some clocks", MINUTE, NOW - DAY, 5 * MINUTE],
  ["is far away by all clocks", HOUR, NOW - DAY, HOUR],
])("an instant that %s", (_, inMs, earliest, left) => {
  const at = earliest === undefined ? { now: NOW } : { now: NOW, earliest };
  expect(msUntil(NOW + inMs, at)).toBe(left);
});
