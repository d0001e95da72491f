import { expect, test } from "vitest";
import type { Readiness } from "../../../../src/api/conditions.ts";
import { evaluate } from "../../../../src/kinds/policy-binding/rules/evaluate.ts";
import { readinessOf } from "../../../../src/kinds/policy-binding/rules/readiness.ts";
import type { UnavailableAccount } from "../../../../src/kinds/policy-binding/rules/views.ts";
import { live, recorded, usable } from "./builders.ts";

const revoked = { ...recorded(["p1"]), accessRevoked: true };
const waits = { state: "Stalled", reason: "ServiceAccountSuspended", message: "It is." } as const;
const restriction: UnavailableAccount = {
  kind: "Unavailable",
  state: "Stalled",
  reason: "NotGranted",
  message: "No grant matches.",
};

test.each([
  ["the plan that holds it up", { ignored: true }, undefined, "PlanOnly"],
  ["the account that holds it up", {}, waits, "ServiceAccountSuspended"],
  ["its suspension, whatever the account waits for", { suspended: true }, waits, "Suspended"],
  ["what is not granted, if nothing holds it up", {}, undefined, "PolicyNotGranted"],
])("a deleted PolicyBinding reports %s", (_, fields, conclusion, reason) => {
  const given = usable(recorded(["p1"]), ["p1 p2! revoking, on record: p1"], live("p1"));
  const [binding] = given.bindings;
  if (binding === undefined) throw new Error("there is one");
  const view = { ...binding, stage: "Live" as const, ...fields };
  expect(readinessOf(given, view, conclusion ?? evaluate(given)).reason).toBe(reason);
});

/** Of the only PolicyBinding of an account to which the console has bound nothing. */
function readinessFor(fields: object, availability: object = {}): Readiness {
  const given = usable(revoked, ["p1"], live(""));
  const seen = { ...given, availability: { ...given.availability, ...availability } };
  const [binding] = seen.bindings;
  if (binding === undefined) throw new Error("there is one");
  return readinessOf(seen, { ...binding, ...fields }, evaluate(seen));
}

test.each([
  ["for a PolicyBinding that is only planned", { ignored: true }, {}],
  ["without a grant", {}, { restriction }],
])("revoked access is told, also %s", (_, fields, availability) => {
  expect(readinessFor(fields, availability).reason).toBe("AccessRevoked");
});

test("revoked access is said to have been read", () => {
  expect(readinessFor({}).message).toContain("no policy is bound to it");
});

test("what is not granted comes before the plan that changes nothing", () => {
  const given = usable(recorded(["p1"]), ["p1 p2!"], live("p1"));
  const [binding] = given.bindings;
  if (binding === undefined) throw new Error("there is one");
  const { reason } = readinessOf(given, { ...binding, ignored: true }, evaluate(given));
  expect(reason).toBe("PolicyNotGranted");
});

test("a withdrawal that takes nothing from the PolicyBinding is not forecast", () => {
  const given = usable(recorded(["p1"]), ["p1"], live(""));
  const withdrawal = { policyIds: ["p9"], since: 0, until: 1, endsInMs: 1, isOver: false };
  const availability = { ...given.availability, restriction: { ...restriction, withdrawal } };
  const seen = { ...given, availability } as typeof given;
  const [binding] = seen.bindings;
  if (binding === undefined) throw new Error("there is one");
  expect(readinessOf(seen, binding, evaluate(seen)).message).toBe("No grant matches.");
});
