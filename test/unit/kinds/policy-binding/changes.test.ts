import { expect, test } from "vitest";
import { changesObjects, toSync } from "../../../../src/kinds/policy-binding/rules/changes.ts";
import {
  evaluate,
  type UsableSnapshot,
} from "../../../../src/kinds/policy-binding/rules/evaluate.ts";
import { endOfWait, releasable } from "../../../../src/kinds/policy-binding/rules/release.ts";
import { live, NOW, recorded, unreadable, usable } from "./builders.ts";

const inPlace = recorded(["p1"]);
const ofImport = { ...inPlace, created: false };

test.each<[boolean, string, UsableSnapshot]>([
  [false, "all is in place", usable(inPlace, ["p1"], live("p1"))],
  [true, "a policy is not bound", usable(recorded([]), ["p1"], live(""))],
  [true, "a finalizer is missing", usable(inPlace, ["p1", "p1 new, on record: p1"], live("p1"))],
  [true, "an intent is missing", usable(inPlace, ["p1", "p1, on record: "], live("p1"))],
  [true, "an object is deleted", usable(inPlace, ["p1", "p1 revoking"], live("p1"))],
  [false, "it cannot be unbound", usable(ofImport, ["p1 revoking"], unreadable)],
  [true, "an object leaves its policy", usable(inPlace, ["p1", "p1 releasing"], live("p1"))],
])("whether a decision changes objects is %s: %s", (expected, _, given) => {
  expect(changesObjects(given, evaluate(given))).toBe(expected);
});

test("a policy that a lost call has bound is unbound as such", () => {
  const given = usable(inPlace, ["p1"], live("p1 p2"));
  const unanswered = { time: NOW, policyIds: ["p2"] };
  const watched = { ...given, state: { ...given.state, unanswered } };
  expect(toSync(evaluate(watched))).toMatchObject({
    policyIds: ["p1"],
    reason: "PoliciesReappeared",
    isDrift: false,
  });
});

test("only an object that still exists and has the finalizer can be released", () => {
  const given = usable(inPlace, ["p1 revoking"]);
  expect(releasable(given, "Revoking")).toHaveLength(1);
  expect(releasable(given, "Releasing")).toHaveLength(0);
  expect(endOfWait(given)).toHaveProperty("afterMs");
  const released = { ...given, objects: new Map() };
  expect(releasable(released, "Revoking")).toHaveLength(0);
  expect(endOfWait(released)).toEqual({});
  const bindings = given.bindings.map((each) => ({ ...each, hasFinalizer: false }));
  expect(releasable({ ...given, bindings }, "Revoking")).toHaveLength(0);
});
