/** A call without a usable response, in the status and in the schedule. */
import { expect, test } from "vitest";
import { nextRead, toStored } from "../../../../src/kinds/policy-binding/rules/unanswered-sync.ts";
import { MINUTE, SECOND, toIso8601 } from "../../../../src/util/time.ts";
import { NOW } from "./builders.ts";

test.each([
  ["is kept if it is hardly older", NOW - SECOND, NOW - SECOND],
  ["is replaced if it is older", NOW - 2 * MINUTE, NOW],
  ["is replaced if a clock was set back since", NOW + SECOND, NOW],
])("the stored time %s", (_, stored, expected) => {
  const call = { time: toIso8601(stored), policyIds: [] };
  expect(toStored({ time: NOW, policyIds: [] }, call).time).toBe(toIso8601(expected));
});

test("a read of before a call counts as one at the time of the call", () => {
  const call = { time: NOW, policyIds: ["p2"] };
  expect(nextRead(call, ["p1"], NOW - MINUTE)).toBe(nextRead(call, ["p1"], NOW));
});

test("the reads after a call become rarer, and end after a minute", () => {
  const call = { time: NOW, policyIds: ["p1"] };
  const seconds = [0, 1, 2, 5, 10, 20, 40].map((age) => {
    const next = nextRead(call, ["p1"], NOW + age * SECOND);
    return next && (next - NOW) / SECOND;
  });
  expect(seconds).toEqual([1, 2, 5, 10, 20, 40, 60]);
  expect(nextRead(call, ["p1"], NOW + MINUTE)).toBeUndefined();
});
