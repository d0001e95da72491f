import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  isRenewalDue,
  overlapEnd,
  renewalTime,
  safetyLimit,
} from "../../../../src/kinds/api-key/rules/schedule.ts";
import { DAY, HOUR, MINUTE } from "../../../../src/util/time.ts";
import { keySpec, NOW } from "./builders.ts";

const NEVER = Number.NEGATIVE_INFINITY;
const life = (days: number, issueTime = NOW) => ({
  issueTime,
  expirationTime: issueTime + days * DAY,
});
const rotation = (changes: object = {}, expiresInDays = 90) =>
  keySpec({ rotation: changes, expiresInDays }).rotation;
const window = (schedule: string, duration: string, timeZone = "UTC") => ({
  windows: [{ schedule, duration, timeZone }],
});
const iso = (instant: number) => new Date(instant).toISOString();

describe("renewal", () => {
  test.each([
    [{ renewBefore: "720h" }, 90, 30 * DAY],
    [{ renewBefore: "48h" }, 90, 2 * DAY],
    [{ renewBefore: "1h" }, 1, HOUR],
    [{ renewBeforePercentage: 10 }, 365, 36.5 * DAY],
    [{}, 90, 29.7 * DAY],
  ])("%o comes up to a tenth of it earlier, and never later", (changes, days, before) => {
    const expiry = NOW + days * DAY;
    const times = Array.from({ length: 2_000 }, (_, uid) =>
      renewalTime(life(days), rotation(changes, days), `uid-${uid}`, NEVER),
    );
    expect(Math.max(...times)).toBeLessThanOrEqual(expiry - before + 1);
    expect(Math.max(...times)).toBeGreaterThan(expiry - before * 1.001);
    expect(Math.min(...times)).toBeGreaterThanOrEqual(expiry - before * 1.1 - 1);
    expect(Math.min(...times)).toBeLessThan(expiry - before * 1.099);
  });

  test.each([
    ["an hour before expiry at the latest", { renewBeforePercentage: 1 }, 1, 23 * HOUR],
    [
      "not before half an hour if it should come an hour after the issue",
      { renewBefore: "2159h" },
      90,
      HOUR,
    ],
    [
      "within an hour of the issue if the key lives shorter than the spec asks for",
      { renewBefore: "720h" },
      10,
      HOUR,
    ],
  ])("it comes %s", (_, changes, days, latest) => {
    for (let uid = 0; uid < 200; uid += 1) {
      const time = renewalTime(life(days), rotation(changes), `uid-${uid}`, NEVER);
      expect(time).toBeLessThanOrEqual(NOW + latest);
      expect(time).toBeGreaterThanOrEqual(NOW + latest / 2);
    }
  });

  test("a window moves no renewal that is due after the safety limit", () => {
    const late = { renewBefore: "1h" };
    const due = renewalTime(life(90), rotation(late), "u", NEVER);
    expect(due).toBeGreaterThan(safetyLimit(life(90)));
    const yearly = rotation({ ...late, ...window("0 0 1 1 *", "1h") });
    expect(renewalTime(life(90), yearly, "u", NEVER)).toBe(due);
  });

  test("clocks in doubt let it begin at the safety limit, but not before it is due", () => {
    const key = life(90);
    const limit = safetyLimit(key);
    const doubted = (now: number) => ({ now, earliest: NOW });
    expect(isRenewalDue(key, limit - DAY, doubted(limit - 1))).toBe(false);
    expect(isRenewalDue(key, limit - DAY, doubted(limit))).toBe(true);
    expect(isRenewalDue(key, limit + DAY, doubted(limit))).toBe(false);
  });

  test("10,000 keys of one day are spread evenly over a tenth of the time before expiry", () => {
    const buckets = Array.from({ length: 9 }, () => 0);
    const from = NOW + 90 * DAY * 0.637;
    const width = (90 * DAY * 0.033) / 9;
    for (let uid = 0; uid < 10_000; uid += 1) {
      const time = renewalTime(life(90), rotation(), `uid-${uid}`, NEVER);
      expect(time).toBeGreaterThanOrEqual(from - 1);
      expect(time).toBeLessThanOrEqual(NOW + 90 * DAY * 0.67 + 1);
      const bucket = Math.max(Math.min(Math.floor((time - from) / width), 8), 0);
      buckets[bucket] = (buckets[bucket] ?? 0) + 1;
    }
    for (const count of buckets) expect(Math.abs(count - 10_000 / 9)).toBeLessThan(150);
  });

  test("it moves with the issue and nothing else", () => {
    fc.assert(
      fc.property(
        fc.uuid(),
        fc.integer({ min: 1, max: 3_650 }),
        fc.nat(10 ** 9),
        (uid, days, shift) => {
          const time = renewalTime(life(days), rotation({}, days), uid, NEVER);
          expect(renewalTime(life(days), rotation({}, days), uid, time + DAY)).toBe(time);
          const later = renewalTime(life(days, NOW + shift), rotation({}, days), uid, NEVER);
          expect(Math.abs(later - time - shift)).toBeLessThanOrEqual(1);
          expect(time).toBeGreaterThan(NOW);
          expect(time).toBeLessThan(NOW + days * DAY - HOUR + 1);
        },
      ),
    );
  });

  test("windows never hold it beyond the safety limit", () => {
    const schedules = fc.constantFrom("0 3 * * 1", "0 0 29 2 *", "30 2 * * *", "0 0 1 1 *");
    fc.assert(
      fc.property(
        fc.uuid(),
        schedules,
        fc.integer({ min: 1, max: 400 }),
        fc.nat(500),
        (uid, schedule, days, after) => {
          const windows = rotation(window(schedule, "1h", "Europe/Berlin"), days);
          const now = NOW + after * DAY;
          const plain = renewalTime(life(days), rotation({}, days), uid, NEVER);
          const time = renewalTime(life(days), windows, uid, now);
          expect(time).toBeGreaterThanOrEqual(plain);
          expect(time).toBeLessThanOrEqual(Math.max(safetyLimit(life(days)), plain) + 1);
        },
      ),
    );
  });

  test("a window that was missed gives way to the next one, up to the safety limit", () => {
    const weekly = rotation(window("0 3 * * 1", "2h"));
    const first = renewalTime(life(90), weekly, "u", NEVER);
    expect(iso(first)).toBe("2026-03-16T03:00:00.000Z");
    expect(iso(renewalTime(life(90), weekly, "u", first + HOUR))).toBe(iso(first));
    expect(iso(renewalTime(life(90), weekly, "u", first + 3 * HOUR))).toBe(
      "2026-03-23T03:00:00.000Z",
    );
    const limit = safetyLimit(life(90));
    expect(renewalTime(life(90), weekly, "u", limit + HOUR)).toBeLessThanOrEqual(limit);
  });

  test.each([
    ["spring forward: 02:30 does not exist", "30 2 29 3 *", "2026-03-29T01:30:00.000Z"],
    ["autumn back: 02:30 comes twice", "30 2 25 10 *", "2026-10-25T00:30:00.000Z"],
    ["a plain day", "30 2 1 7 *", "2026-07-01T00:30:00.000Z"],
  ])("a window in Berlin, %s", (_, schedule, expected) => {
    const due = Date.parse(expected) - 10 * DAY;
    const issueTime = due - 400 * DAY;
    const long = { issueTime, expirationTime: issueTime + 3_650 * DAY };
    const early = rotation(
      { renewBefore: `${3_240 * 24}h`, ...window(schedule, "1h", "Europe/Berlin") },
      3_650,
    );
    const time = renewalTime(long, early, "u", due);
    expect(Math.abs(time - Date.parse(expected))).toBeLessThanOrEqual(HOUR);
  });
});

describe("bounds", () => {
  test.each([
    ["a day by default", {}, 90 * DAY, DAY],
    ["at least five minutes", { overlap: "1s" }, 90 * DAY, 5 * MINUTE],
    ["not longer than the key lives", { overlap: "48h" }, DAY, DAY],
  ])("the overlap lasts %s", (_, changes, left, expected) => {
    const key = { supersededTime: NOW, expirationTime: NOW + left };
    expect(overlapEnd(key, rotation(changes), true)).toBe(NOW + expected);
  });

  test.each([
    ["by nothing where none is asked for", {}, 90 * DAY, DAY],
    ["by as much as is asked for", { maxOverlapExtension: "72h" }, 90 * DAY, 4 * DAY],
    ["not beyond the key's life", { maxOverlapExtension: "72h" }, 2 * DAY, 2 * DAY],
  ])("while Pods may be behind, the overlap grows %s", (_, changes, left, expected) => {
    const key = { supersededTime: NOW, expirationTime: NOW + left };
    expect(overlapEnd(key, rotation(changes), false)).toBe(NOW + expected);
  });

  test("the safety limit is a tenth of the lifetime, at least an hour, before expiry", () => {
    expect(safetyLimit(life(90))).toBe(NOW + 81 * DAY);
    expect(safetyLimit({ issueTime: NOW, expirationTime: NOW + 2 * HOUR })).toBe(NOW + HOUR);
  });
});
