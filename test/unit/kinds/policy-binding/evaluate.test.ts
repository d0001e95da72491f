import { expect, test } from "vitest";
import {
  activeBindings,
  evaluate,
  isUnread,
  isUsable,
  managesBindings,
  mustRead,
  type UsableSnapshot,
} from "../../../../src/kinds/policy-binding/rules/evaluate.ts";
import type { BoundAccount } from "../../../../src/kinds/policy-binding/rules/views.ts";
import { MINUTE } from "../../../../src/util/time.ts";
import { account, bindingOf, input, live, NOW, recorded, unreadable, usable } from "./builders.ts";

const withoutAccess = { ...recorded([]), accessRevoked: true };
const closed = { accessRevoked: true, revocationSubmitted: false };

test.each<[boolean, string, Partial<BoundAccount>, readonly string[]]>([
  [false, "all is as recorded", recorded(["p1"]), ["p1"]],
  [true, "a policy is withdrawn", { ...recorded(["p1"]), withdrawn: ["p2"] }, ["p1"]],
  [true, "no empty list was submitted", { ...recorded([]), ...closed }, []],
  [false, "nothing was ever bound", {}, []],
  [true, "the first object declares a policy", {}, ["p1"]],
  [true, "a deleted object may have bound one", {}, ["p1 revoking"]],
  [false, "a deleted object has bound nothing", {}, ["p1 revoking, on record: "]],
  [true, "a deleted object may have bound one more", recorded([]), ["p1 revoking"]],
  [false, "it has bound nothing", recorded(["p1"]), ["p1", "p1 revoking, on record: "]],
  [true, "an object may have bound a policy before access was revoked", withoutAccess, ["p1"]],
  [false, "no object has", withoutAccess, ["p1, on record: "]],
])("whether the console must be read is %s if %s", (expected, _, fields, texts) => {
  const recordedInput = input(
    account(fields),
    texts.map(bindingOf),
    fields.ledger?.policies.map(({ policyId }) => policyId) ?? [],
  );
  expect(mustRead(recordedInput)).toBe(expected);
});

test("the console must be read while an object waits for the trial of another", () => {
  const waiting = input(account(recorded([])), [bindingOf("p1", 0), bindingOf("p2", 1)], [], true);
  expect(mustRead(waiting)).toBe(true);
});

test.each(["account", "session", "state"])("an account is not usable without its %s", (field) => {
  expect(isUsable({ ...usable({}, []), [field]: undefined })).toBe(false);
});

test.each<[boolean, string, Partial<BoundAccount>, readonly string[]]>([
  [false, "of a new account", {}, []],
  [true, "that an object declares", {}, ["p1"]],
  [true, "of an imported account", { created: false }, []],
  [true, "of an account without access", { accessRevoked: true }, []],
  [true, "that are withdrawn", { withdrawn: ["p1"] }, []],
])("whether the operator manages policies is %s: %s", (expected, _, fields, texts) => {
  expect(managesBindings(usable(fields, texts))).toBe(expected);
});

const lost = { unanswered: { time: NOW, policyIds: ["p2"] } };

test("the operator manages policies while a lost call may still bind some", () => {
  const given = usable({}, []);
  expect(managesBindings({ ...given, state: { ...given.state, ...lost } })).toBe(true);
});

test("the operator manages policies that will be withdrawn", () => {
  const withdrawal = { policyIds: [], since: NOW, until: NOW, endsInMs: 0, isOver: false };
  const why = { kind: "Unavailable", state: "Stalled", reason: "NotGranted", message: "" } as const;
  const given = usable({}, []);
  const availability = { ...given.availability, restriction: { ...why, withdrawal } };
  expect(managesBindings({ ...given, availability })).toBe(true);
});

test("a policy that a lost call may bind proves no drift while answers cannot be read", () => {
  const given = usable(recorded(["p1"]), ["p1"], unreadable);
  const { isDrift, decision } = evaluate({ ...given, state: { ...given.state, ...lost } });
  expect([isDrift, decision.sync]).toEqual([false, ["p1"]]);
});

const contended = (given: UsableSnapshot): UsableSnapshot => ({
  ...given,
  state: {
    ...given.state,
    corrections: [1, 2, 3, 4, 5].map((ago) => NOW - ago * MINUTE),
  },
});
const ofImport = { ...recorded(["p1"]), created: false };

test.each<[string, UsableSnapshot]>([
  ["drift verified", usable(recorded(["p1"]), ["p1"], live(""))],
  ["verified", usable(recorded(["p1"]), ["p1"], live("p1"))],
  // An unreadable answer does not prove that the console is as declared.
  ["", usable(recorded(["p1"]), ["p1"], unreadable)],
  // A call that is accepted does.
  ["verified", usable(recorded(["p1"]), ["p2, on record: "], unreadable)],
  ["blocked", usable(ofImport, ["p2, on record: "], unreadable)],
  ["drift blocked", contended(usable(recorded(["p1"]), ["p1"], live("")))],
  ["verified", contended(usable(recorded(["p1"]), ["p1"], live("p1")))],
  ["verified", usable(recorded(["p1"]), ["p1", "p2, on record: "], live("p1"))],
  ["", usable(recorded(["p1"]), ["p1"])],
])("an evaluation is %s: %#", (expected, given) => {
  const { isDrift, verified, decision } = evaluate(given);
  const blocked = decision.blocked !== undefined;
  const found = { drift: isDrift, verified, blocked };
  const names = Object.entries(found).flatMap(([name, is]) => (is ? [name] : []));
  expect(names.join(" ")).toBe(expected);
});

test("while drift is not corrected, what the console shows is bound", () => {
  const given = contended(usable(recorded(["p1"]), ["p1"], live("")));
  expect(evaluate(given).decision.bound).toEqual([]);
});

test("without an answer, the recorded spellings count", () => {
  const policies = [{ policyId: "p1", state: "Declared", consoleSpelling: "P1" } as const];
  const given = usable({ ledger: { isComplete: true, policies } }, ["p1"]);
  expect(evaluate(given).spellings.get("p1")).toBe("P1");
});

test("a readable answer of this run counts more than an unreadable one before it", () => {
  const given = usable(recorded(["p1"]), ["p1"]);
  const status = { bindings: { unreadable: true } } as const;
  const before = { ...given, account: { ...given.account, status } };
  expect(isUnread(before)).toBe(true);
  expect(isUnread({ ...before, ...live("p1") })).toBe(false);
});

test.each<[readonly string[], string, UsableSnapshot]>([
  [["0-uid"], "that counts", usable(recorded(["p1"]), ["p1", "p1 suspended"], live("p1"))],
  [[], "of an account without access", usable({ ...closed }, ["p1"], live(""))],
  [[], "while the console may not be changed", usable(ofImport, ["p2, on record: "], unreadable)],
])("the active objects are %j: an object %s", (uids, _, given) => {
  expect(activeBindings(evaluate(given)).map(({ uid }) => uid)).toEqual(uids);
});

test("an object that waits for the trial of another is not active", () => {
  const given = usable(recorded([]), ["p1, on record: ", "p2, on record: "], live(""));
  const isolating = { ...given, state: { ...given.state, isolating: true } };
  expect(activeBindings(evaluate(isolating)).map(({ uid }) => uid)).toEqual(["0-uid"]);
});

test("what the answer to the run's own call shows counts more than what was read before it", () => {
  const synced = { spellings: new Map() };
  const given = usable(recorded(["p1"]), ["p1"], live("p1"));
  expect(isUnread({ ...given, synced: { ...synced, effect: "Unknown" } })).toBe(true);
  const unread = usable(recorded(["p1"]), ["p1"], unreadable);
  expect(isUnread({ ...unread, synced: { ...synced, effect: "Shown" } })).toBe(false);
});
