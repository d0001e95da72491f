/** A list that is behind does not bring back what was just unbound. */
import { expect, test } from "vitest";
import { withoutUnbound } from "../../../../src/kinds/policy-binding/rules/unbound.ts";
import type { BoundAccount } from "../../../../src/kinds/policy-binding/rules/views.ts";
import { account, bindingOf, input, listOf } from "./builders.ts";

test.each<[string, string, Partial<BoundAccount>, string]>([
  ["f", "is otherwise foreign", {}, ""],
  ["p1", "is declared", {}, "p1"],
  ["p2", "may be bound for an object", {}, "p2"],
  ["f", "goes with revoked access", { accessRevoked: true }, "f"],
  ["f", "goes as a foreign one", { foreignPolicies: "Remove" }, "f"],
])("of a list with the unbound %s, which %s, is left: %o %s", (id, _, fields, left) => {
  const given = input(account(fields), [bindingOf("p1, on record: p2")], [id]);
  expect(withoutUnbound(given.live, given, [id])).toEqual({
    readable: true,
    policyIds: listOf(left),
  });
});
