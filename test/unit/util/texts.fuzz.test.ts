/** Durations, times and schedules: any text is read or refused, and what is read says the same when written. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { isCron, nextOpen } from "../../../src/util/cron.ts";
import {
  DAY,
  HOUR,
  MINUTE,
  parseDuration,
  parseInstant,
  SECOND,
  toIso8601,
} from "../../../src/util/time.ts";
import { effort } from "../../setup/effort.ts";

test("a duration is the sum of its parts; anything else is refused", () => {
  const unit = fc.constantFrom<[string, number]>(
    ["ms", 1],
    ["s", SECOND],
    ["m", MINUTE],
    ["h", HOUR],
  );
  const part = fc.tuple(fc.nat(999_999_999), unit);
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 6 }), (parts) => {
      const text = parts.map(([amount, [name]]) => `${amount}${name}`).join("");
      const sum = parts.reduce((total, [amount, [, ms]]) => total + amount * ms, 0);
      expect(parseDuration(text)).toBe(sum);
    }),
    { numRuns: 500 * effort },
  );
  const odd = fc.oneof(
    fc.string({ unit: "binary", maxLength: 30 }),
    fc
      .array(fc.constantFrom("1", "h", "m", "ms", "s", ".", "-", " ", "d", "9999999999"), {
        maxLength: 12,
      })
      .map((all) => all.join("")),
    fc.constantFrom("1h".repeat(1_000), "1".repeat(1_000), `${"1h".repeat(1_000)}!`),
  );
  fc.assert(
    fc.property(odd, (text) => {
      const ms = parseDuration(text);
      expect(ms === undefined || (Number.isFinite(ms) && ms >= 0)).toBe(true);
    }),
    { numRuns: 1_000 * effort },
  );
});

test("a time that was written is read back; any text is a time that can be written, or none", () => {
  const moment = fc.integer({ min: 0, max: 253_402_300_799 }).map((seconds) => seconds * SECOND);
  fc.assert(
    fc.property(moment, (instant) => {
      expect(parseInstant(toIso8601(instant))).toBe(instant);
    }),
    { numRuns: 500 * effort },
  );
  const digits = fc.constantFrom(
    ...["0000-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2016-12-31T23:59:60Z"],
    ...[
      "+275760-09-13T00:00:00Z",
      "-000001-01-01T00:00:00Z",
      "275760",
      "1",
      "",
      "now",
      "2026-02-30",
    ],
  );
  const text = fc.oneof(
    digits,
    fc.string({ unit: "binary", maxLength: 40 }),
    fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  );
  fc.assert(
    fc.property(text, (written) => {
      const instant = parseInstant(written);
      if (instant === undefined) return;
      expect(toIso8601(instant)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      expect(parseInstant(toIso8601(instant))).toBe(Math.floor(instant / SECOND) * SECOND);
    }),
    { numRuns: 2_000 * effort },
  );
});

test("any text is a schedule or none, and a schedule opens now, later or never", () => {
  const field = fc.oneof(
    fc.constantFrom(
      "*",
      "*/2",
      "0",
      "1-5",
      "1,15",
      "L",
      "W",
      "MON",
      "JAN",
      "5#2",
      "59",
      "23",
      "31",
      "12",
      "7",
      "?",
    ),
    fc.string({ maxLength: 4 }),
  );
  const schedule = fc.oneof(
    fc.tuple(field, field, field, field, field).map((fields) => fields.join(" ")),
    fc.string({ unit: "binary", maxLength: 30 }),
    fc.constantFrom("0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 29 2 *", "* * * * * *", "@daily"),
  );
  const timeZone = fc.constantFrom("UTC", "Europe/Berlin", "America/New_York", "Pacific/Apia");
  const from = fc.integer({ min: Date.UTC(2020, 0, 1), max: Date.UTC(2060, 0, 1) });
  fc.assert(
    fc.property(
      schedule,
      timeZone,
      from,
      fc.integer({ min: MINUTE, max: DAY }),
      (text, zone, at, durationMs) => {
        if (!isCron(text)) return;
        const opening = nextOpen({ schedule: text, timeZone: zone, durationMs }, at);
        if (opening === undefined) return;
        expect(opening).toBeGreaterThanOrEqual(at);
        // Open already, or from the full minute on.
        expect(opening === at || opening % MINUTE === 0).toBe(true);
      },
    ),
    { numRuns: 300 * effort },
  );
});
