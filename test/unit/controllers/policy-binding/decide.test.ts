import { describe, expect, test } from "vitest";
import {
  type DecisionInput,
  decide,
} from "../../../../src/controllers/policy-binding/rules/decide.ts";
import { account, binding, input, recorded, refused, releasing, revoking } from "./builders.ts";

const fresh = { applied: [], hasFinalizer: false };
const kept = account();
const removing = account({ foreignPolicies: "Remove" });
const imported = account({ created: false });
const closed = account({ accessRevoked: true });

const cases: readonly [string, DecisionInput, readonly string[] | undefined][] = [
  [
    "the union of all bindings is submitted",
    input(kept, [binding("a", ["p1", "p2"], fresh), binding("b", ["p2", "p3"], fresh)], []),
    ["p1", "p2", "p3"],
  ],
  [
    "nothing is submitted where the console is as declared",
    input(kept, [binding("a", ["p1"])], ["p1"]),
    undefined,
  ],
  [
    "foreign policies stay under Keep",
    input(kept, [binding("a", ["p1"], fresh)], ["f"]),
    ["f", "p1"],
  ],
  [
    "foreign policies alone are no reason to write under Keep",
    input(kept, [binding("a", ["p1"])], ["p1", "f"]),
    undefined,
  ],
  [
    "foreign policies go under Remove",
    input(removing, [binding("a", ["p1"])], ["p1", "f"]),
    ["p1"],
  ],
  [
    "a policy that a spec no longer names goes",
    input(kept, [binding("a", ["p1"], { applied: ["p1", "p2"] })], ["p1", "p2"]),
    ["p1"],
  ],
  [
    "a deleted binding takes its policies along",
    input(kept, [binding("a", ["p1"]), binding("b", ["p2"], revoking)], ["p1", "p2", "f"]),
    ["p1", "f"],
  ],
  [
    "a deleted binding leaves what another one wants",
    input(kept, [binding("a", ["p1"]), binding("b", ["p1"], revoking)], ["p1"]),
    undefined,
  ],
  [
    "the last deleted binding empties the account",
    input(kept, [binding("a", ["p1"], revoking)], ["p1"]),
    [],
  ],
  [
    "a retained binding leaves its policies behind",
    input(kept, [binding("a", ["p1"], releasing)], ["p1"]),
    undefined,
  ],
  [
    "a policy that no existing binding accounts for stays although it is on record (S20)",
    input(account(recorded(["p1", "p2"])), [binding("a", ["p1"])], ["p1", "p2"]),
    undefined,
  ],
  [
    "an account without bindings is not emptied under Remove (S11)",
    input(removing, [], ["f"]),
    undefined,
  ],
  [
    "a suspended binding keeps what it bound",
    input(kept, [binding("a", ["p1", "p2"], { applied: ["p1"], suspended: true })], ["p1"]),
    undefined,
  ],
  [
    "a suspended binding causes no write where its policy is gone",
    input(kept, [binding("a", ["p1"], { suspended: true })], []),
    undefined,
  ],
  [
    "a binding whose grant was taken away keeps what it bound and binds nothing new",
    input(kept, [binding("a", ["p1", "p2"], { applied: ["p1"], ...refused })], ["p1"]),
    undefined,
  ],
  [
    "a withdrawn policy goes, and what the object has besides stays",
    input(
      { ...kept, withdrawn: ["p2"] },
      [binding("a", ["p1", "p2"], { ...refused })],
      ["p1", "p2", "f"],
    ),
    ["p1", "f"],
  ],
  [
    "a withdrawn policy goes although its binding is suspended",
    input(
      { ...kept, withdrawn: ["p1"] },
      [binding("a", ["p1"], { suspended: true, ...refused })],
      ["p1"],
    ),
    [],
  ],
  [
    "a withdrawn policy goes although its binding is deleted and retains it",
    input({ ...kept, withdrawn: ["p1"] }, [binding("a", ["p1"], releasing)], ["p1", "f"]),
    ["f"],
  ],
  [
    "a withdrawn policy goes although no binding accounts for it any more",
    input({ ...kept, withdrawn: ["p1"] }, [], ["p1", "f"]),
    ["f"],
  ],
  [
    "a withdrawn policy that another binding may bind stays",
    input(
      { ...kept, withdrawn: ["p1"] },
      [binding("a", ["p1"], { ...refused }), binding("b", ["p1"])],
      ["p1"],
    ),
    undefined,
  ],
  [
    "a refused binding does not block others",
    input(kept, [binding("a", ["p1"], { ...fresh, ...refused }), binding("b", ["p2"], fresh)], []),
    ["p2"],
  ],
  [
    "suspended access unbinds everything, foreign policies included",
    input(closed, [binding("a", ["p1"])], ["p1", "f"]),
    [],
  ],
  [
    "suspended access is quiet once nothing is bound",
    input(closed, [binding("a", ["p1"])], []),
    undefined,
  ],
  [
    "new policies go one binding at a time after a refusal",
    input(kept, [binding("a", ["p1"], fresh), binding("b", ["p2"], fresh)], [], true),
    ["p1"],
  ],
  [
    "an unreadable created account is written from what is on record",
    input(
      account(recorded(["p1"])),
      [binding("a", ["p1"]), binding("b", ["p2"], fresh)],
      "unreadable",
    ),
    ["p1", "p2"],
  ],
  [
    "an unreadable created account in step with its record is left alone",
    input(account(recorded(["p1"])), [binding("a", ["p1"])], "unreadable"),
    undefined,
  ],
  [
    "an unreadable account is written again where an intent may have arrived",
    input(
      account(recorded(["p1"])),
      [binding("a", ["p1"], { applied: ["p1", "p2"] })],
      "unreadable",
    ),
    ["p1"],
  ],
  [
    "an unreadable imported account is left alone under Keep",
    input(imported, [binding("a", ["p1"], fresh)], "unreadable"),
    undefined,
  ],
  [
    "an unreadable imported account is written under Remove",
    input(
      account({ created: false, foreignPolicies: "Remove" }),
      [binding("a", ["p1"], fresh)],
      "unreadable",
    ),
    ["p1"],
  ],
  [
    "access is revoked on an unreadable imported account",
    input(account({ created: false, accessRevoked: true }), [binding("a", ["p1"])], "unreadable"),
    [],
  ],
  [
    "an unreadable account whose record is empty is emptied if access was revoked after the record",
    input(
      account({
        accessRevoked: true,
        record: { ours: [], foreign: [], left: [], revocationProven: false },
      }),
      [],
      "unreadable",
    ),
    [],
  ],
  [
    "an unreadable account is emptied once",
    input(account({ ...recorded([]), accessRevoked: true }), [], "unreadable"),
    undefined,
  ],
];

describe("decide", () => {
  test.each(cases)("%s", (_, given, expected) => {
    expect(decide(given).sync).toEqual(expected);
  });

  test("an unreadable imported account says what to do", () => {
    const { blocked } = decide(input(imported, [binding("a", ["p1"], fresh)], "unreadable"));
    expect(blocked).toMatchObject({ reason: "BindingsUnreadable" });
    expect(blocked?.message).toContain("foreignPolicies: Remove");
  });

  test("more policies than a status can name are not bound", () => {
    const many = Array.from({ length: 1_001 }, (_, index) => `p${index}`);
    const decision = decide(input(kept, [binding("a", many, fresh)], []));
    expect(decision).toMatchObject({ sync: undefined, blocked: { reason: "TooManyPolicies" } });
  });
});
