import { expect, test } from "vitest";
import type { IamPolicy } from "../../../../src/console/model.ts";
import { toSync } from "../../../../src/kinds/policy-binding/rules/changes.ts";
import {
  evaluate,
  type UsableSnapshot,
} from "../../../../src/kinds/policy-binding/rules/evaluate.ts";
import { expectedSync } from "../../../../src/kinds/policy-binding/rules/expected-sync.ts";
import { readinessOf } from "../../../../src/kinds/policy-binding/rules/readiness.ts";
import { account, bindingOf, listOf, recorded, snapshot } from "./builders.ts";

const policies = ["p1", "p2", "p3"].map((policyId) => ({ policyId })) as readonly IamPolicy[];

/** The policies that are bound in the end, and the reason if they are not those of the call. */
function expected(texts: readonly string[], live: string, listed = policies, fields: object = {}) {
  const bound = listOf(live);
  const given = snapshot(account({ ...recorded(bound), ...fields }), texts.map(bindingOf), {
    source: "Server",
    live: { readable: true, policyIds: bound },
  }) as UsableSnapshot;
  const sync = toSync(evaluate(given));
  if (sync === undefined) throw new Error("no call is planned");
  const { policyIds, why } = expectedSync(given, sync, listed);
  return [policyIds.join(" "), why.join(" ")] as const;
}

test.each<[readonly string[], string, string]>([
  [["p1 p3, on record: p1 p2"], "p1 p2", "p1 p3"],
  [["p1 x, on record: p1 p2"], "p1 p2", "p1 p2"],
  [["p1 p3 x, on record: p1 p2"], "p1 p2", "p1 p2 p3"],
  [["x, on record:", "p2, on record: p1"], "p1", "p2"],
])("of %j, where %s is bound, the console has %s in the end", (texts, live, bound) => {
  expect(expected(texts, live)[0].split(" ").toSorted().join(" ")).toBe(bound);
});

test("the reason names the policy with the fault", () => {
  const [, why] = expected(["p1 p2 x, on record: p1"], "p1");
  expect(why).toMatch(/^Policy x is not among the organization's policies\. .*\(PolicyRefused\)/);
  expect(expected(["p1 p2, on record: p1"], "p1")[1]).toBe("");
});

test("a policy that is listed in another spelling is expected to be bound, with a warning", () => {
  expect(expected(["p1 P2, on record: p1"], "p1")).toEqual([
    "p1 P2",
    "Policy P2 is not among the organization's policies in this spelling (did you mean p2?). The console may refuse the call.",
  ]);
});

test("without a list of policies, and for a revocation, the call is expected to be accepted", () => {
  expect(expected(["p1 x, on record: p1"], "p1", [])).toEqual(["p1 x", ""]);
  const revoked = { accessRevoked: true };
  expect(expected(["p1 x, on record: p1"], "p1", policies, revoked)).toEqual(["", ""]);
});

test("a plan does not say that such a policy is bound, whatever else the object reports", () => {
  const given = snapshot(account(recorded(["p1"])), [bindingOf("p1 p2 x p9!, on record: p1")], {
    source: "Server",
    live: { readable: true, policyIds: ["p1"] },
  }) as UsableSnapshot;
  const evaluation = evaluate(given);
  const [binding] = given.bindings;
  const sync = toSync(evaluation);
  if (binding === undefined || sync === undefined) throw new Error("a call is planned");
  const { refused } = expectedSync(given, sync, policies);
  const synced = { effect: "Shown", spellings: new Map(), refused } as const;
  expect(readinessOf({ ...given, synced }, binding, evaluation)).toMatchObject({
    reason: "PolicyNotGranted",
    message: expect.stringContaining("Bound: p1, p2. Not bound for this object yet: x."),
  });
});
