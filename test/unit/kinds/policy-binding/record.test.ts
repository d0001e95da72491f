/** What `status.bindings` of a ServiceAccount says after a run. */
import { expect, test } from "vitest";
import {
  evaluate,
  type UsableSnapshot,
} from "../../../../src/kinds/policy-binding/rules/evaluate.ts";
import { recordGone, recordOf } from "../../../../src/kinds/policy-binding/rules/record.ts";
import type { BindingsStatus } from "../../../../src/kinds/policy-binding/rules/snapshot.ts";
import { DAY, HOUR, MINUTE, toIso8601 } from "../../../../src/util/time.ts";
import { live, NOW, recorded, unreadable, usable } from "./builders.ts";

const then = toIso8601(NOW - MINUTE);
const kept = recorded(["p1"]);
const revoked = { ...recorded([]), accessRevoked: true };

/** The snapshot of an account whose record also says this. */
function having(given: UsableSnapshot, changes: BindingsStatus): UsableSnapshot {
  const { account } = given;
  const bindings = { ...account.status?.bindings, ...changes };
  return { ...given, account: { ...account, status: { ...account.status, bindings } } };
}

function recordAfter(given: UsableSnapshot) {
  return recordOf(given, evaluate(given));
}

const notApplied = { notAppliedTime: then };
const notRevoked = { revocationNotAppliedTime: then };
const accepted = { revocation: { evidence: "AcceptedCall", time: then } } as const;
const watched = { unansweredSync: { time: toIso8601(NOW - DAY), policyIds: ["p2"] } };

test.each<[string, UsableSnapshot, BindingsStatus]>([
  ["that nothing was read", usable(kept, ["p1"]), notApplied],
  ["that no revocation was read", usable(revoked, []), notRevoked],
  [
    "the proof of a revocation, which an unreadable list leaves",
    usable(revoked, [], unreadable),
    { ...accepted, unreadable: true },
  ],
  [
    "what a blocked run cannot read",
    usable({ ...kept, created: false }, ["p2, on record: "], unreadable),
    {},
  ],
  ["a list that was read lately", usable(kept, ["p1"], live("p1")), { lastSyncTime: then }],
])("the record stays: %s", (_, given, stored) => {
  expect(recordAfter(having(given, stored))).toBeUndefined();
});

test.each<[string, UsableSnapshot, BindingsStatus, object]>([
  ["a call that is no longer watched", usable({}, []), watched, { unansweredSync: undefined }],
  [
    "a change that was applied",
    usable(kept, ["p1"], live("p1")),
    notApplied,
    { notAppliedTime: undefined },
  ],
  [
    "a revocation that was applied",
    usable(revoked, [], live("")),
    notRevoked,
    { revocationNotAppliedTime: undefined },
  ],
  [
    "a revocation that is no longer wanted",
    usable(kept, ["p1"]),
    notRevoked,
    { revocationNotAppliedTime: undefined },
  ],
  [
    "the time of a list with news",
    usable(kept, ["p1"], live("p1 f")),
    { lastSyncTime: then },
    { lastSyncTime: toIso8601(NOW) },
  ],
  [
    "the time of a list after a day",
    usable(kept, ["p1"], live("p1")),
    { lastSyncTime: toIso8601(NOW - DAY) },
    { lastSyncTime: toIso8601(NOW) },
  ],
  [
    "that the list cannot be read",
    usable(kept, ["p1"], unreadable),
    {},
    { unreadable: true, policyCount: 1 },
  ],
  [
    "that a read has shown a revocation",
    usable(revoked, [], live("")),
    accepted,
    { revocation: { evidence: "Read", time: toIso8601(NOW) } },
  ],
])("the record changes: %s", (_, given, stored, expected) => {
  const { bindings } = recordAfter(having(given, stored)) ?? {};
  expect(bindings).toEqual({ ...bindings, ...expected });
  expect(bindings).toBeDefined();
});

test.each([
  [undefined, undefined],
  [0, undefined],
  [2, {}],
])("of an account that is gone, a count of %j leaves %j", (policyCount, expected) => {
  const { account } = having(usable({}, []), policyCount === undefined ? {} : { policyCount });
  expect(recordGone(account)?.bindings).toEqual(expected);
});

const withdrawal = {
  policyIds: ["p1"],
  since: NOW,
  until: NOW + HOUR,
  endsInMs: HOUR,
  isOver: false,
};
const why = { kind: "Unavailable", state: "Stalled", reason: "NotGranted", message: "" } as const;
const ungranted = (() => {
  const given = usable(kept, ["p1"]);
  return { ...given, availability: { ...given.availability, restriction: { ...why, withdrawal } } };
})();

test.each<[string, UsableSnapshot, string[]]>([
  ["a grant that was removed", ungranted, ["GrantRemoved"]],
  ["nothing of it later", having(ungranted, { ungrantedTime: toIso8601(NOW), ...notRevoked }), []],
  [
    "a policy bound outside the operator",
    usable(kept, ["p1"], live("p1 f")),
    ["ForeignPoliciesFound"],
  ],
  ["nothing of what an account had before", usable({ created: false }, ["p1"], live("p1 f")), []],
])("an event tells of %s", (_, given, reasons) => {
  expect(recordAfter(given)?.events.map(({ event }) => event.reason) ?? []).toEqual(reasons);
});
