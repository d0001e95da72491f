import { describe, expect, test } from "vitest";
import { decide } from "../../../../src/kinds/policy-binding/rules/decide.ts";
import type { BoundAccount } from "../../../../src/kinds/policy-binding/rules/views.ts";
import { account, bindingOf, input, listOf, recorded } from "./builders.ts";

const kept = account();
const removing = account({ foreignPolicies: "Remove" });
const imported = account({ created: false });
const closed = account({ accessRevoked: true });
const closedLater = { ...closed, ...recorded([]), revocationSubmitted: false };
const removingWithdrawn = account({ foreignPolicies: "Remove", withdrawn: ["p1"] });
const withdrawing = (...ids: string[]) => account({ withdrawn: ids });
const having = (...ids: string[]) => account(recorded(ids));

const unfinished = account({ ledger: { ...recorded(["p1"]).ledger, isComplete: false } });

const UNREADABLE = "unreadable";
/** PolicyBindings, what is bound according to the console, and what is submitted, if anything. */
type Case = [string, BoundAccount, readonly string[], string, string?];

const cases: Case[] = [
  ["the union of all bindings is submitted", kept, ["p1 p2 new", "p2 p3 new"], "", "p1 p2 p3"],
  ["nothing is submitted if the console is as declared", kept, ["p1"], "p1"],
  ["foreign policies stay under Keep", kept, ["p1 new"], "f", "f p1"],
  ["under Keep, foreign policies alone cause no write", kept, ["p1"], "p1 f"],
  ["foreign policies go under Remove", removing, ["p1"], "p1 f", "p1"],
  ["a policy that a spec no longer names goes", kept, ["p1, on record: p1 p2"], "p1 p2", "p1"],
  ["a deleted binding takes its policies along", kept, ["p1", "p2 revoking"], "p1 p2 f", "p1 f"],
  ["a deleted binding leaves what another one wants", kept, ["p1", "p1 revoking"], "p1"],
  ["the last deleted binding empties the account", kept, ["p1 revoking"], "p1", ""],
  ["a retained binding leaves its policies behind", kept, ["p1 releasing"], "p1"],
  ["a policy on record that no binding names stays (S20)", having("p1", "p2"), ["p1"], "p1 p2"],
  ["an account without bindings is not emptied under Remove (S11)", removing, [], "f"],
  ["a suspended binding keeps what it bound", kept, ["p1 p2 suspended, on record: p1"], "p1"],
  ["a suspended binding causes no write if its policy is gone", kept, ["p1 suspended"], ""],
  ["a binding without a grant keeps what it bound", kept, ["p1! p2!, on record: p1"], "p1"],
  [
    "a deleted binding that bound nothing empties no account",
    kept,
    [", on record: p1", "p2 revoking, on record: "],
    "p1",
  ],
  ["a withdrawn policy goes, others stay", withdrawing("p2"), ["p1 p2!"], "p1 p2 f", "p1 f"],
  ["it goes from a suspended binding", withdrawing("p1"), ["p1! suspended"], "p1", ""],
  [
    "it goes from a deleted binding that retains it",
    withdrawing("p1"),
    ["p1 releasing"],
    "p1 f",
    "f",
  ],
  ["it goes if no binding names it", withdrawing("p1"), [], "p1 f", "f"],
  ["then it goes alone, under Remove too", removingWithdrawn, [], "p1 f", "f"],
  ["it stays if another binding may bind it", withdrawing("p1"), ["p1!", "p1"], "p1"],
  ["a refused binding does not block others", kept, ["p1! new", "p2 new"], "", "p2"],
  ["a refused policy does not block others", kept, ["p1! p2 new"], "", "p2"],
  ["while one is refused, nothing goes", kept, ["p1! p2, on record: p3"], "p3 f", "p3 f p2"],
  ["a withdrawn one goes", withdrawing("p1"), ["p1! p2, on record: p1 p3"], "p1 p3", "p3 p2"],
  ["revoked access unbinds everything, foreign policies included", closed, ["p1"], "p1 f", ""],
  ["revoked access is quiet once nothing is bound", closed, ["p1"], ""],
  [
    "a created account is written from its record",
    having("p1"),
    ["p1", "p2 new"],
    UNREADABLE,
    "p1 p2",
  ],
  ["one in step with its record is left alone", having("p1"), ["p1"], UNREADABLE],
  ["a record of unfinished syncs proves nothing", unfinished, ["p1"], UNREADABLE, "p1"],
  ["an intent may have arrived", having("p1"), ["p1, on record: p1 p2"], UNREADABLE, "p1"],
  ["an imported account is left alone under Keep", imported, ["p1 new"], UNREADABLE],
  ["it is written under Remove", { ...removing, created: false }, ["p1 new"], UNREADABLE, "p1"],
  ["access is revoked on it", { ...closed, created: false }, ["p1"], UNREADABLE, ""],
  ["access was revoked after the record", closedLater, [], UNREADABLE, ""],
  ["an account is emptied once", { ...closed, ...recorded([]) }, [], UNREADABLE],
];

function decided(who: BoundAccount, bindings: readonly string[], live: string) {
  return decide(input(who, bindings.map(bindingOf), live === UNREADABLE ? live : listOf(live)));
}

describe("decide", () => {
  test.each<Case>(cases)("%s", (_, who, bindings, live, expected) => {
    expect(decided(who, bindings, live).sync).toEqual(
      expected === undefined ? undefined : listOf(expected),
    );
  });

  test("new policies go one binding at a time after a refusal", () => {
    const bindings = ["p1 new", "p2 new"].map(bindingOf);
    expect(decide(input(kept, bindings, [], true)).sync).toEqual(["p1"]);
  });

  test("one that is not carried out does not keep the others waiting", () => {
    const bindings = ["p1 suspended, on record: ", "p2 new"].map(bindingOf);
    expect(decide(input(kept, bindings, [], true)).sync).toEqual(["p2"]);
  });

  test("an unanswered call is followed by another one if no answer shows what is bound", () => {
    const unanswered = ["p1"];
    expect(decide({ ...input(having(), [], UNREADABLE), unanswered }).sync).toEqual([]);
  });

  test("what is on record stays on record if no answer shows what is bound", () => {
    const account = { ...imported, ...recorded(["p1"]) };
    expect(decided(account, ["p1"], UNREADABLE).bound).toEqual(["p1"]);
  });

  test("an unreadable imported account says what to do", () => {
    const { blocked } = decided(imported, ["p1 new"], UNREADABLE);
    expect(blocked).toMatchObject({ reason: "BindingsUnreadable" });
    expect(blocked?.message).toContain("foreignPolicies: Remove");
  });

  test("more policies than a status can name are not bound", () => {
    const many = Array.from({ length: 1_001 }, (_, index) => `p${index}`);
    expect(decided(kept, [`${many.join(" ")} new`], "")).toMatchObject({
      sync: undefined,
      blocked: { reason: "TooManyPolicies" },
    });
  });
});
