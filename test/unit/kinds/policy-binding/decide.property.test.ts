import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { recordedPolicies } from "../../../../src/accounts/recorded-policies.ts";
import { type DecisionInput, decide } from "../../../../src/kinds/policy-binding/rules/decide.ts";
import { mustRead } from "../../../../src/kinds/policy-binding/rules/evaluate.ts";
import { nextPolicies } from "../../../../src/kinds/policy-binding/rules/ledger.ts";
import type { BindingView } from "../../../../src/kinds/policy-binding/rules/views.ts";
import { account, binding, input, refusing } from "./builders.ts";

const ids = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d", "e", "f"), { maxLength: 6 });
const bindings: fc.Arbitrary<readonly BindingView[]> = fc
  .array(
    fc.record({
      policyIds: ids.filter((list) => list.length > 0),
      applied: ids,
      stage: fc.constantFrom("Live" as const, "Revoking" as const, "Releasing" as const),
      suspended: fc.boolean(),
      refused: fc.oneof(fc.constant<string[]>([]), ids),
    }),
    { maxLength: 4 },
  )
  .map((list) =>
    list.map(({ policyIds, refused, ...rest }, index) => {
      const may = policyIds.filter((id) => !(refused as string[]).includes(id));
      return binding(`b${index}`, may, { ...rest, ...refusing(refused) });
    }),
  );
const states = ["Declared", "Foreign", "Abandoned", "Unrevoked"] as const;
const policies = ids.chain((list) =>
  fc.tuple(
    ...list.map((policyId) => fc.constantFrom(...states).map((state) => ({ policyId, state }))),
  ),
);
const who = fc
  .record({
    created: fc.boolean(),
    foreignPolicies: fc.constantFrom("Keep" as const, "Remove" as const),
    accessRevoked: fc.boolean(),
    ledger: fc.record({ isComplete: fc.boolean(), policies }),
    revocationSubmitted: fc.boolean(),
    withdrawn: fc.oneof(fc.constant([]), ids),
  })
  .map(account);
const anything: fc.Arbitrary<DecisionInput> = fc
  .tuple(who, bindings, fc.oneof(ids, fc.constant("unreadable" as const)), fc.boolean())
  .map(([one, list, live, isolating]) => input(one, list, live, isolating));

const check = (property: (given: DecisionInput) => void) =>
  fc.assert(fc.property(anything, property), { numRuns: 3_000 });

function after(given: DecisionInput, bound: readonly string[]): DecisionInput {
  const { bound: all, ours, shares } = decide(given);
  const withdrawn: readonly string[] = [];
  return {
    ...given,
    live: { readable: true, policyIds: bound },
    account: {
      ...given.account,
      withdrawn,
      ledger: {
        isComplete: true,
        policies: nextPolicies(given.account.ledger, { bound: all, ours }, [], new Map()),
      },
      revocationSubmitted: given.account.accessRevoked,
    },
    bindings: given.bindings
      .filter(({ stage }) => stage === "Live")
      .map((one) => ({ ...one, applied: shares.get(one.uid) ?? one.applied })),
  };
}

describe("for any bindings, record and answer", () => {
  test("a policy that no existing binding has on record is never unbound under Keep (S11)", () => {
    check((given) => {
      const { sync } = decide(given);
      const { account: one, live, bindings: list } = given;
      if (sync === undefined || one.accessRevoked || one.foreignPolicies === "Remove") return;
      const owned = new Set([...one.withdrawn, ...list.flatMap(({ applied }) => applied)]);
      const known = live.readable ? live.policyIds : recordedPolicies(one.ledger);
      expect(known.filter((id) => !owned.has(id) && !sync.includes(id))).toEqual([]);
    });
  });

  test("nothing is submitted where it would change nothing", () => {
    check((given) => {
      const { sync } = decide(given);
      if (sync === undefined || !given.live.readable) return;
      expect(new Set(sync)).not.toEqual(new Set(given.live.policyIds));
    });
  });

  test("one sync is enough: the next decision has nothing to do and nothing to ask", () => {
    check((given) => {
      if (given.isolating) return;
      const { sync } = decide(given);
      if (sync === undefined) return;
      const next = after(given, sync);
      expect(decide(next).sync).toBeUndefined();
      const believing: DecisionInput = { ...next, live: { readable: true, policyIds: sync } };
      expect(mustRead(believing)).toBe(false);
    });
  });

  test("an empty list needs revoked access, a deletion that revokes, or a withdrawal (S11)", () => {
    check((given) => {
      if (decide(given).sync?.length !== 0) return;
      const { withdrawn } = given.account;
      const revokes =
        withdrawn.length > 0 || given.bindings.some(({ stage }) => stage === "Revoking");
      expect(given.account.accessRevoked || revokes).toBe(true);
    });
  });

  test("what a live and accepted binding asks for is in every list that is submitted", () => {
    check((given) => {
      const { sync, postponed } = decide(given);
      if (sync === undefined || given.account.accessRevoked) return;
      for (const one of given.bindings) {
        if (one.stage !== "Live" || one.suspended || postponed.has(one.uid)) continue;
        expect(sync).toEqual(expect.arrayContaining([...one.policyIds]));
      }
    });
  });

  test("suspended and refused bindings never bring a policy in", () => {
    check((given) => {
      const { sync } = decide(given);
      if (sync === undefined || !given.live.readable) return;
      const wished = given.bindings
        .filter((one) => one.stage === "Live" && !one.suspended)
        .flatMap(({ policyIds }) => policyIds);
      const { policyIds: live } = given.live;
      expect(sync.filter((id) => !live.includes(id) && !wished.includes(id))).toEqual([]);
    });
  });
});
