/** What the process remembers of an account after a run. */
import { expect, test } from "vitest";
import type { UsableSnapshot } from "../../../../src/kinds/policy-binding/rules/evaluate.ts";
import { stateAfter } from "../../../../src/kinds/policy-binding/rules/state-after.ts";
import type { Outcome } from "../../../../src/reconciler/rules/outcome.ts";
import { MINUTE } from "../../../../src/util/time.ts";
import { live, NOW, recorded, usable } from "./builders.ts";

const EARLIER = NOW - MINUTE;
const settled = { kind: "Settled" } as const;
const waiting = { kind: "Waiting", reason: "X", state: "Reconciling", message: "No." } as const;
const bound = recorded(["p1"]);

function after(given: UsableSnapshot, outcome: Outcome, isolating = false) {
  const state = { ...given.state, lastReadTime: EARLIER, isolating };
  return stateAfter({ ...given, state }, outcome, state);
}

test.each<[string, UsableSnapshot, Outcome, number]>([
  ["a read", usable(bound, ["p1"], live("p1")), settled, NOW],
  ["no read", usable(bound, ["p1"]), settled, EARLIER],
  ["a read that led nowhere", usable(bound, ["p1"], live("p1")), waiting, EARLIER],
])("the time of the last read after %s", (_, given, outcome, expected) => {
  expect(after(given, outcome)?.lastReadTime).toBe(expected);
});

test.each<[boolean, string, UsableSnapshot]>([
  [true, "some wait", usable(recorded([]), ["p1, on record: ", "p2, on record: "], live(""))],
  [true, "some wait, unread", usable(recorded([]), ["p1, on record: ", "p2, on record: "])],
  [false, "the last was tried", usable(recorded([]), ["p1, on record: "], live(""))],
  [false, "nothing is new", usable(bound, ["p1"])],
])("objects are tried one by one (%j) after a run in which %s", (expected, _, given) => {
  expect(after(given, settled, true)?.isolating).toBe(expected);
});
