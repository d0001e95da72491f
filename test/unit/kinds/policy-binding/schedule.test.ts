import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ServiceAccount } from "../../../../src/api/service-account.ts";
import {
  contendedUntil,
  isStale,
  nextDriftCheck,
} from "../../../../src/kinds/policy-binding/rules/schedule.ts";
import { stateOf } from "../../../../src/kinds/policy-binding/rules/state.ts";
import { HOUR, MINUTE } from "../../../../src/util/time.ts";

const NOW = Date.UTC(2026, 0, 1);

describe("the next drift check", () => {
  test("comes within ten minutes after every look, for any account", () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 0, max: 10 ** 9 }), (uid, offset) => {
        const looked = NOW + offset;
        const wait = nextDriftCheck(uid, looked, [], looked) - looked;
        expect(wait).toBeGreaterThan(0);
        expect(wait).toBeLessThanOrEqual(10 * MINUTE);
      }),
    );
  });

  test("differs from account to account", () => {
    const checks = Array.from({ length: 100 }, (_, index) =>
      nextDriftCheck(`6f1c2a34-${index}`, NOW, [], NOW),
    );
    expect(new Set(checks).size).toBeGreaterThan(95);
  });

  test("comes after a minute while corrections are fresh", () => {
    const next = nextDriftCheck("uid", NOW, [NOW], NOW);
    expect(next - NOW).toBeLessThanOrEqual(MINUTE);
    const due = nextDriftCheck("uid", NOW, [], NOW) - 1;
    expect(nextDriftCheck("uid", due, [due], due)).toBe(due + 1);
  });
});

test.each([
  ["four corrections within an hour are not a fight", [1, 2, 3, 4], undefined],
  ["five are, for an hour after the last", [1, 2, 3, 4, 5], NOW - MINUTE + HOUR],
  ["old ones do not count", [1, 2, 3, 4, 61], undefined],
  ["nor do those of a clock that was set back", [1, 2, 3, 4, -10], undefined],
])("%s", (_, minutesAgo, expected) => {
  const corrections = minutesAgo.map((minutes) => NOW - minutes * MINUTE);
  expect(contendedUntil(corrections, NOW)).toBe(expected);
});

test("a fight that an earlier process recorded goes on as long as it said", () => {
  const pausedUntil = (time: string) => {
    const status = { bindings: { contendedUntil: time } };
    const account = { metadata: { name: "bot", uid: "sa-uid" }, status } as ServiceAccount;
    return contendedUntil(stateOf(undefined, account, NOW).corrections, NOW);
  };
  expect(pausedUntil("2026-01-01T00:30:00Z")).toBe(NOW + 30 * MINUTE);
  expect(pausedUntil("2025-12-31T23:59:00Z")).toBeUndefined();
});

test.each([
  [undefined, true],
  ["2025-12-31T23:30:00Z", false],
  ["2025-12-31T23:00:00Z", true],
  ["2026-01-01T00:00:01Z", true],
  ["nonsense", true],
])("lastSyncTime %s is stale: %s", (lastSyncTime, expected) => {
  expect(isStale(lastSyncTime, NOW)).toBe(expected);
});
