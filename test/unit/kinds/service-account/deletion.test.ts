import { describe, expect, test } from "vitest";
import { IamError } from "../../../../src/console/errors.ts";
import { NO_RIGHTS } from "../../../../src/kinds/connection/rules/effective-grant.ts";
import {
  type CleanUp,
  endAfter,
  inUse,
} from "../../../../src/kinds/service-account/rules/deletion.ts";
import type { AccountSnapshot } from "../../../../src/kinds/service-account/rules/snapshot.ts";
import { policyOf } from "../../../../src/kinds/service-account/rules/unbinding.ts";
import { reconciling, stalled } from "../../../../src/reconciler/rules/waiting.ts";
import { DAY, HOUR, MINUTE, toIso8601 } from "../../../../src/util/time.ts";
import { blockedSince } from "../blocked-cleanup.ts";
import {
  access,
  account,
  accountName,
  claimOf,
  deleted,
  type Given,
  NOW,
  play,
  serviceAccount,
  snapshotOf,
  using,
} from "./objects.ts";

const attempt = { id: "a-1", startTime: NOW - 60_000, name: accountName, described: undefined };
const young = { ...attempt, startTime: NOW - 5_000 };
const failure = reconciling("Unavailable", "A call to the console failed: down.");
const down = new IamError("Unavailable", "down", { operation: "getServiceAccount" });
const unanswered: Given = { answers: { ListAccounts: down, GetAccount: down } };
const none: AccountSnapshot["listing"] = { ok: true, accounts: [] };
const unclear: AccountSnapshot["listing"] = {
  ok: true,
  accounts: [{ saId: "sa-7", name: accountName }],
};
const deleting = { ...access, extraCalls: new Set(["deleteServiceAccount"] as const) };
const imported = { ...account, origin: "Imported" } as const;

function stepOf(given: Given, now = NOW) {
  return play({ object: deleted, ...given }, now).step;
}

/** `GetAccount`, `Waiting InUse`, `Released Retained`; with how the account became known. */
function toText(given: Given, now = NOW): string {
  const { step, known } = play({ object: deleted, ...given }, now);
  const { kind, reason, events = [] } = step as Record<string, unknown>;
  const became = known.became === undefined ? [] : [`${known.became},`];
  if (kind === "Waiting") return [...became, kind, reason].join(" ");
  const reasons = (events as readonly { reason: string }[]).map((event) => event.reason);
  return [...became, kind, ...reasons].join(" ");
}

const users = [using("Keys", "ApiKey ci-bot")];
const suspended = { spec: { suspend: true } };
/** The clock was wrong until the console answered with its list. */
const corrected: Given = { attempt, answers: { ListAccounts: { listing: none, attempt: young } } };
const retained = { spec: { deletionPolicy: "Retain" } };
const deletedToo = {
  spec: { deletionPolicy: "Delete" },
  connection: { ok: true, access: deleting },
} as const;
const unknown = { account, answer: { detail: undefined } };
const nameless = { ...unknown, account: { ...account, tpn: undefined } };
const another = { account, answer: { detail: { saId: "sa-1", name: "other", keyIds: [] } } };
const unreadable: AccountSnapshot["listing"] = { ok: false, code: "MalformedResponse" };
const unlisted: Given = { attempt, listing: unreadable };
const tpnless = { ...nameless, answer: { detail: { saId: "sa-1", keyIds: [] } } };
/** Another object, of 2020, has the account. */
const claimsOn = (saId: string) => {
  const metadata = { name: "other", uid: "other", creationTimestamp: "2020-01-01T00:00:00Z" };
  return new Map([[saId, [claimOf(serviceAccount({ metadata, status: { saId } }))]]]);
};
const claimed = { account, otherClaims: claimsOn(account.saId) };
const leftToOther = { attempt, listing: unclear, otherClaims: claimsOn("sa-7") };

test.each<[string, Given, string]>([
  ["an object without an account is looked for", {}, "ListAccounts"],
  ["an object whose account is unknown is released at once", { listing: none }, "Released"],
  [
    "an unreadable list does not show that there is none",
    { listing: unreadable },
    "Waiting AccountUnknown",
  ],
  ["an account that may be its own is named", { listing: unclear }, "Released CleanupIncomplete"],
  ["an object that may have an account waits", unanswered, "Waiting Unavailable"],
  ["users come before that", { users, ...unanswered }, "Waiting InUse"],
  ["so does suspension", { ...suspended, ...unanswered }, "Waiting Suspended"],
  ["an account to retain needs no answer", { ...retained, ...unanswered }, "Released"],
  ["nor does one to import", { spec: { saId: "sa-1" }, ...unanswered }, "Released"],
  ["users come first", { users, account }, "Waiting InUse"],
  ["suspension holds a deletion", { ...suspended, account }, "Waiting Suspended"],
  ["even one without a call", { ...suspended, listing: none }, "Waiting Suspended"],
  ["an imported account is retained without a call", { account: imported }, "Released Retained"],
  ["a created account is read before it is cleaned up", { account }, "GetAccount"],
  ["an account that a replica does not know is cleaned up", unknown, "RevokePolicies"],
  ["and deleted, if that is asked for", { ...unknown, ...deletedToo }, "DeleteAccount"],
  ["even without a resource name", { ...nameless, ...deletedToo }, "DeleteAccount"],
  ["without a resource name there is nothing to unbind", nameless, "Released Released"],
  ["an account that exists is not gone without a resource name", tpnless, "Waiting TpnUnknown"],
  ["it does not stay", { ...unknown, answers: { RevokePolicies: "Revoked" } }, "Released Released"],
  ["another account than the object's is left alone", another, "Waiting ServiceAccountMismatch"],
  ["an account of another object is left as it is", claimed, "Released Released"],
  ["an open attempt is looked into first", { attempt }, "ListAccounts"],
  ["but not before its call has timed out", { attempt: young }, "Waiting CreateOutcomeUnknown"],
  ["nor if the answer with the list corrects the clock", corrected, "Waiting CreateOutcomeUnknown"],
  [
    "its account is recorded even if another object names it",
    leftToOther,
    "Recovered, Released Released",
  ],
  ["or waits for the console", { attempt, ...unanswered }, "Waiting Unavailable"],
  ["even to retain", { ...retained, attempt }, "ListAccounts"],
  ["an attempt that has created nothing leaves nothing", { attempt, listing: none }, "Released"],
  ["an attempt that cannot be explained", unlisted, "Waiting CreateOutcomeUnknown"],
])("%s", (_, given, step) => expect(toText(given)).toBe(step));

test.each([
  ["a created account is revoked by default", {}, account, "Revoke"],
  ["an imported account is retained by default", {}, imported, "Retain"],
  ["the spec decides", { deletionPolicy: "Delete" }, imported, "Delete"],
])("%s", (_, spec, seen, policy) => {
  expect(policyOf(snapshotOf({ account: seen }, spec))).toBe(policy);
});

test("a console that cannot be used is a reason to wait, not to skip", () => {
  const waiting = reconciling("ConnectionNotReady", "not yet");
  expect(stepOf({ account, connection: { ok: false, waiting } })).toEqual({
    ...waiting,
    afterMs: 30_000,
  });
  const grant = { ...access.grant, importServiceAccounts: false };
  const seen = { connection: { ok: true, access: { ...access, grant } } } as const;
  expect(stepOf({ ...seen, spec: { saId: "sa-9", deletionPolicy: "Revoke" } })).toMatchObject({
    kind: "Waiting",
    state: "Stalled",
    reason: "NotGranted",
  });
});

describe("policies that the namespace has no right to leave bound", () => {
  const bound = {
    ...deleted,
    status: {
      saId: "sa-1",
      bindings: {
        policies: [
          { policyId: "p1", state: "Declared" as const },
          { policyId: "p2", state: "Abandoned" as const },
          { policyId: "p3", state: "Unrevoked" as const },
          { policyId: "p4", state: "Foreign" as const },
        ],
      },
    },
  };
  const granted = (changes: object) => ({
    connection: {
      ok: true,
      access: { ...access, grant: { ...access.grant, ...changes } },
    } as const,
  });
  const waiting = stalled("NotGranted", "no grant");
  const ungranted = {
    connection: {
      ok: false,
      waiting,
      grant: NO_RIGHTS,
      ungranted: { ...access, gracePeriodMs: undefined },
    } as const,
  };
  const answer = { detail: { saId: "sa-1", orgId: "org-1", keyIds: [] } } as const;
  const ours = { kind: "RevokePolicies", only: ["p1", "p2", "p3"] };
  const everything = { kind: "RevokePolicies", tpn: account.tpn, orgId: "org-1" };
  const left = { kind: "Released", events: [{ reason: "Retained" }] };
  const retain = { deletionPolicy: "Retain" };

  test.each<[string, Partial<AccountSnapshot>, object, object]>([
    ["Retain with the right to it", granted({ retainPolicies: true }), retain, left],
    ["Retain without it", granted({ retainPolicies: false }), retain, ours],
    ["Retain without a grant", ungranted, retain, ours],
    ["Revoke without a grant", ungranted, {}, everything],
    [
      "an import that is not granted any more",
      { ...granted({ importServiceAccounts: false }), account: imported },
      { deletionPolicy: "Revoke" },
      ours,
    ],
    [
      "an import without a grant",
      { ...ungranted, account: imported },
      { deletionPolicy: "Delete" },
      ours,
    ],
  ])("are unbound, and policies of others only with Revoke: %s", (_, seen, spec, expected) => {
    const given = { account, answer, object: bound, ...seen };
    const step = stepOf({ ...given, spec });
    expect(step).toMatchObject(expected);
    expect("only" in step).toBe("only" in expected);
  });

  test("do not end an attempt before its call has timed out", () => {
    expect(toText({ attempt: young, ...ungranted })).toBe("Waiting CreateOutcomeUnknown");
    const limits = { ...access.spec.limits, timeout: "1h" };
    const slow = { ...access, spec: { ...access.spec, limits }, gracePeriodMs: undefined };
    const given = { attempt: { ...young, startTime: NOW - HOUR } };
    const connection = { ...ungranted.connection, ungranted: slow };
    expect(toText({ ...given, ...ungranted })).toBe("ListAccounts");
    expect(toText({ ...given, connection })).toBe("Waiting CreateOutcomeUnknown");
  });

  test("are named when the account is left", () => {
    const seen = { account, answer, object: bound, ...granted({ retainPolicies: false }) };
    const step = stepOf({ ...seen, spec: retain, answers: { RevokePolicies: "RetainNotGranted" } });
    expect(step).toMatchObject({ kind: "Released", events: [{ type: "Warning" }] });
    expect(JSON.stringify(step)).toContain("p1, p2, p3 were unbound");
  });
});

describe("a syncBindings call that may still take effect", () => {
  const seenAt = (ms: number, given: Given = {}, deletedAgo = MINUTE): Given => {
    const policyIds = ["pol-late", "pol-kept", "pol-abandoned"];
    const bindings = {
      policies: [
        { policyId: "pol-kept", state: "Declared" as const },
        { policyId: "pol-abandoned", state: "Abandoned" as const },
      ],
      unansweredSync: { time: toIso8601(NOW - ms), policyIds },
    };
    const deletionTimestamp = toIso8601(NOW - deletedAgo);
    const metadata = { ...deleted.metadata, deletionTimestamp };
    const object = { ...deleted, metadata, status: { saId: "sa-1", bindings } };
    const answer = { detail: { saId: "sa-1", orgId: "org-1", keyIds: [] } } as const;
    return { account, answer, object, ...given };
  };
  const cleanedUp = (how: CleanUp) => ({ answers: { RevokePolicies: how, DeleteAccount: how } });

  test.each<[string, number, CleanUp, string, Given?]>([
    ["holds the object", 9 * MINUTE, "Revoked", "Waiting WaitingForLateCall"],
    ["does so if no read shows anything", 0, "RevokeUnconfirmed", "Waiting WaitingForLateCall"],
    ["has a time that is not in the future", -DAY, "Revoked", "Waiting WaitingForLateCall"],
    ["needs an account", 0, "Deleted", "Released Deleted", deletedToo],
    ["is unlikely after ten minutes", 10 * MINUTE, "Revoked", "Released Revoked"],
  ])("%s", (_, ms, how, text, given) => {
    const seen = seenAt(ms, { ...given, ...cleanedUp(how) });
    expect(toText(seen)).toBe(text);
    const { afterMs = 0 } = stepOf(seen);
    expect(afterMs).toBeLessThanOrEqual(MINUTE / 2);
  });

  test.each([
    ["ten minutes after it", 10 * MINUTE - 7_000, NOW + 7_000, 7_000],
    [
      "ten minutes after the deletion, if its time is in the future",
      -DAY,
      NOW + 9 * MINUTE,
      30_000,
    ],
  ])("is waited for until %s", (_, ms, end, afterMs) => {
    expect(stepOf(seenAt(ms, cleanedUp("Revoked")))).toMatchObject({
      afterMs,
      message: expect.stringContaining(`ends at ${toIso8601(end)}`),
    });
  });

  test("is waited for no longer than that, whatever its time", () => {
    const revoked = cleanedUp("Revoked");
    expect(toText(seenAt(-DAY, revoked, 9 * MINUTE))).toBe("Waiting WaitingForLateCall");
    expect(toText(seenAt(-DAY, revoked, 10 * MINUTE))).toBe("Released Revoked");
    expect(toText(seenAt(-DAY, revoked, -DAY))).toBe("Released Revoked");
  });

  test("is waited for although policies are retained, and only what was withdrawn goes", () => {
    const grant = { ...access.grant, retainPolicies: true };
    const retain = { ...retained, connection: { ok: true, access: { ...access, grant } } } as const;
    const only = { kind: "RevokePolicies", only: ["pol-late"] };
    expect(stepOf(seenAt(MINUTE, retain))).toMatchObject(only);
    const done = { ...retain, ...cleanedUp("RetainNotGranted") };
    expect(toText(seenAt(MINUTE, done))).toBe("Waiting WaitingForLateCall");
    expect(toText(seenAt(11 * MINUTE, retain))).toBe("Released Retained");
    const { known } = play(seenAt(MINUTE, retain));
    const end = endAfter("RetainNotGranted", known as never, NOW + 10 * MINUTE);
    expect(end).toMatchObject({ kind: "Released", events: [{ reason: "Retained" }] });
  });
});

test.each<[string, Given, boolean]>([
  ["by a console that does not answer", { account, ...unanswered }, true],
  ["by an account that is not its own", another, true],
  ["not by objects that use the account", { account, users, ...unanswered }, false],
  ["not by a call that may still take effect", { attempt: young }, false],
  ["nor if the answer with the list corrects the clock", corrected, false],
])("a cleanup is blocked %s", (_, given, isBlocked) => {
  const { known } = play({ object: deleted, ...given });
  expect(known.isCleanupBlocked === true).toBe(isBlocked);
});

const GIVE_UP_AFTER_MS = 10 * MINUTE;
const failing = { ...unanswered, object: blockedSince(deleted, NOW) };

test("what an object without a known account may have had is given up as well", () => {
  expect(stepOf(failing, NOW + GIVE_UP_AFTER_MS)).toMatchObject({
    events: [
      {
        type: "Warning",
        reason: "CleanupIncomplete",
        note: "Gave up cleaning up in the console and left the account of ServiceAccount team-a/ci-bot, if any: its status does not name it. Last reason: A call to the console failed: down.",
      },
    ],
  });
});

test.each([
  [true, "Released CleanupIncomplete"],
  [false, "Waiting DeleteNotPossible"],
])("an account that cannot be deleted is given up if the namespace ends: %s", (ends, step) => {
  const seen = { account, object: failing.object, namespaceTerminating: ends };
  const given = { ...seen, spec: { deletionPolicy: "Delete" } };
  expect(toText(given, NOW + GIVE_UP_AFTER_MS)).toBe(step);
});

test.each<[string, Given, string]>([
  ["an account that is not the object's", another, "Released CleanupIncomplete"],
  ["an attempt that cannot be explained", unlisted, "Released CleanupIncomplete"],
  [
    "only an attempt that may still take effect",
    { attempt: { ...attempt, startTime: NOW + GIVE_UP_AFTER_MS } },
    "Waiting CreateOutcomeUnknown",
  ],
])("a deletion is not held forever by %s", (_, given, step) => {
  const blocked = { ...given, object: failing.object };
  expect(toText(blocked, NOW + GIVE_UP_AFTER_MS)).toBe(step);
});

test.each([
  [
    "ApiKeys",
    [using("Keys", "ApiKey a")],
    "Delete ApiKey a first; an ApiKey can instead name another ServiceAccount in spec.serviceAccountRef.",
  ],
  ["PolicyBindings", [using("Policies", "PolicyBinding a")], "Delete PolicyBinding a first."],
  [
    "superseded keys",
    [using("SupersededKeys", "ApiKey b")],
    "Keys of this account may still work: ApiKey b (superseded keys). The deletion waits until they are revoked or expire, or until spec.access: Revoked has taken all permissions from them. Keep these ApiKeys: they issue keys of another account.",
  ],
  [
    "keys and their policies",
    [using("Keys", "ApiKey a"), using("Policies", "PolicyBinding p")],
    "Delete ApiKey a first; an ApiKey can instead name another ServiceAccount in spec.serviceAccountRef. Delete PolicyBinding p last, because keys in use need the policies.",
  ],
  [
    "keys that move, and their policies",
    [using("MovingKeys", "ApiKey a"), using("Policies", "PolicyBinding p")],
    "Wait until the move of ApiKey a to another ServiceAccount is done; the condition IssuanceAllowed says what it waits for. Delete PolicyBinding p last, because keys in use need the policies.",
  ],
])("a deletion that waits says what to do about %s", (_, users, advice) => {
  const { message } = inUse({ object: { metadata: {} } as never, users });
  expect(message).toBe(`Deletion waits for objects that still use this object. ${advice}`);
});

test("a deletion that waits does not forget that the account is gone", () => {
  const object = { metadata: {}, status: { saId: "sa-1", ownership: "Gone" } } as never;
  const { reason, state, message } = inUse({ object, users: [using("Keys", "ApiKey a")] });
  expect([state, reason]).toEqual(["Stalled", "ServiceAccountGone"]);
  expect(message).toContain("no longer has service account sa-1. Deletion waits");
});

test("a failing clean-up is given up after ten minutes, and says what is left", () => {
  const given = { ...failing, account };
  expect(stepOf(given)).toEqual({ ...failure, afterMs: 30_000 });
  expect(stepOf({ ...unanswered, account })).toEqual({ ...failure, afterMs: 30_000 });
  const almost = NOW + GIVE_UP_AFTER_MS - 1_000;
  expect(stepOf(given, almost)).toMatchObject({ afterMs: 1_000 });
  expect(stepOf(given, NOW + GIVE_UP_AFTER_MS)).toEqual({
    kind: "Released",
    events: [
      {
        type: "Warning",
        reason: "CleanupIncomplete",
        action: "Delete",
        note: "Gave up cleaning up in the console and left service account sa-1 (tpn:r1:org-1:prj-1:sa/sa-1; keys when last listed: sak_1), with its policies. Last reason: A call to the console failed: down.",
      },
    ],
  });
});
