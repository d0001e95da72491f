import { describe, expect, test } from "vitest";
import { decide, type Seen } from "../../../src/controllers/policy-binding/decide.ts";
import { account, binding, recorded, refused, releasing, revoking, seen } from "./builders.ts";

const fresh = { applied: [], held: false };
const kept = account();
const removing = account({ foreignPolicies: "Remove" });
const imported = account({ created: false });
const closed = account({ suspendAccess: true });

const cases: readonly [string, Seen, readonly string[] | undefined][] = [
  [
    "the union of all bindings is submitted",
    seen(kept, [binding("a", ["p1", "p2"], fresh), binding("b", ["p2", "p3"], fresh)], []),
    ["p1", "p2", "p3"],
  ],
  [
    "nothing is submitted where the console is as declared",
    seen(kept, [binding("a", ["p1"])], ["p1"]),
    undefined,
  ],
  [
    "foreign policies stay under Keep",
    seen(kept, [binding("a", ["p1"], fresh)], ["f"]),
    ["f", "p1"],
  ],
  [
    "foreign policies alone are no reason to write under Keep",
    seen(kept, [binding("a", ["p1"])], ["p1", "f"]),
    undefined,
  ],
  ["foreign policies go under Remove", seen(removing, [binding("a", ["p1"])], ["p1", "f"]), ["p1"]],
  [
    "a policy that a spec no longer names goes",
    seen(kept, [binding("a", ["p1"], { applied: ["p1", "p2"] })], ["p1", "p2"]),
    ["p1"],
  ],
  [
    "a deleted binding takes its policies along",
    seen(kept, [binding("a", ["p1"]), binding("b", ["p2"], revoking)], ["p1", "p2", "f"]),
    ["p1", "f"],
  ],
  [
    "a deleted binding leaves what another one wants",
    seen(kept, [binding("a", ["p1"]), binding("b", ["p1"], revoking)], ["p1"]),
    undefined,
  ],
  [
    "the last deleted binding empties the account",
    seen(kept, [binding("a", ["p1"], revoking)], ["p1"]),
    [],
  ],
  [
    "a retained binding leaves its policies behind",
    seen(kept, [binding("a", ["p1"], releasing)], ["p1"]),
    undefined,
  ],
  [
    "a policy that no existing binding accounts for stays although it is on record (S20)",
    seen(account(recorded(["p1", "p2"])), [binding("a", ["p1"])], ["p1", "p2"]),
    undefined,
  ],
  [
    "an account without bindings is not emptied under Remove (S11)",
    seen(removing, [], ["f"]),
    undefined,
  ],
  [
    "a suspended binding keeps what it bound",
    seen(kept, [binding("a", ["p1", "p2"], { applied: ["p1"], suspended: true })], ["p1"]),
    undefined,
  ],
  [
    "a suspended binding causes no write where its policy is gone",
    seen(kept, [binding("a", ["p1"], { suspended: true })], []),
    undefined,
  ],
  [
    "a binding whose grant was taken away keeps what it bound and binds nothing new",
    seen(kept, [binding("a", ["p1", "p2"], { applied: ["p1"], ...refused })], ["p1"]),
    undefined,
  ],
  [
    "a refused binding does not block others",
    seen(kept, [binding("a", ["p1"], { ...fresh, ...refused }), binding("b", ["p2"], fresh)], []),
    ["p2"],
  ],
  [
    "suspended access unbinds everything, foreign policies included",
    seen(closed, [binding("a", ["p1"])], ["p1", "f"]),
    [],
  ],
  [
    "suspended access is quiet once nothing is bound",
    seen(closed, [binding("a", ["p1"])], []),
    undefined,
  ],
  [
    "new policies go one binding at a time after a refusal",
    seen(kept, [binding("a", ["p1"], fresh), binding("b", ["p2"], fresh)], [], true),
    ["p1"],
  ],
  [
    "an unreadable created account is written from what is on record",
    seen(
      account(recorded(["p1"])),
      [binding("a", ["p1"]), binding("b", ["p2"], fresh)],
      "unreadable",
    ),
    ["p1", "p2"],
  ],
  [
    "an unreadable created account in step with its record is left alone",
    seen(account(recorded(["p1"])), [binding("a", ["p1"])], "unreadable"),
    undefined,
  ],
  [
    "an unreadable account is written again where an intent may have arrived",
    seen(
      account(recorded(["p1"])),
      [binding("a", ["p1"], { applied: ["p1", "p2"] })],
      "unreadable",
    ),
    ["p1"],
  ],
  [
    "an unreadable imported account is left alone under Keep",
    seen(imported, [binding("a", ["p1"], fresh)], "unreadable"),
    undefined,
  ],
  [
    "an unreadable imported account is written under Remove",
    seen(
      account({ created: false, foreignPolicies: "Remove" }),
      [binding("a", ["p1"], fresh)],
      "unreadable",
    ),
    ["p1"],
  ],
  [
    "the kill switch works on an unreadable imported account",
    seen(account({ created: false, suspendAccess: true }), [binding("a", ["p1"])], "unreadable"),
    [],
  ],
];

describe("decide", () => {
  test.each(cases)("%s", (_, given, expected) => {
    expect(decide(given).sync).toEqual(expected);
  });

  test("an unreadable imported account says what to do", () => {
    const { hold } = decide(seen(imported, [binding("a", ["p1"], fresh)], "unreadable"));
    expect(hold).toMatchObject({ reason: "BindingsUnreadable" });
    expect(hold?.message).toContain("foreignPolicies: Remove");
  });

  test("more policies than a status can name are not bound", () => {
    const many = Array.from({ length: 1_001 }, (_, index) => `p${index}`);
    const decision = decide(seen(kept, [binding("a", many, fresh)], []));
    expect(decision).toMatchObject({ sync: undefined, hold: { reason: "TooManyPolicies" } });
  });
});
