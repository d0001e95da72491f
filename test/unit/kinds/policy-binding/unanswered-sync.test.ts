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
