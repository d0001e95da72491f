import { describe, expect, test } from "vitest";
import { NO_RIGHTS } from "../../../../src/controllers/connection/rules/effective-grant.ts";
import type { Released, Waiting } from "../../../../src/controllers/frame/rules/outcome.ts";
import { reconciling, stalled } from "../../../../src/controllers/frame/rules/waiting.ts";
import {
  nextOfDeletion,
  policyOf,
} from "../../../../src/controllers/service-account/rules/deletion.ts";
import type {
  AccountAction,
  AccountDone,
  AccountSnapshot,
} from "../../../../src/controllers/service-account/rules/snapshot.ts";
import { MINUTE } from "../../../../src/util/time.ts";
import { blockedSince } from "../blocked-cleanup.ts";
import {
  access,
  account,
  accountName,
  at,
  claimOf,
  deleted,
  NOW,
  serviceAccount,
  snapshotOf,
} from "./objects.ts";

const attempt = { id: "a-1", startTime: NOW - 60_000, described: undefined };
const failure = reconciling("Unavailable", "down");
const unanswered: AccountDone = { failure };
const none: AccountSnapshot["listing"] = { ok: true, accounts: [] };
const unclear: AccountSnapshot["listing"] = {
  ok: true,
  accounts: [{ saId: "sa-7", name: accountName }],
};
const deleting = { ...access, extraCalls: new Set(["deleteServiceAccount"] as const) };
const imported = { ...account, origin: "Imported" } as const;

interface Case {
  readonly name: string;
  readonly seen?: Partial<AccountSnapshot>;
  readonly spec?: object;
  readonly done?: AccountDone;
  readonly step: string;
}

function stepOf({ seen, spec, done = {} }: Omit<Case, "name" | "step">, now = NOW) {
  return nextOfDeletion(
    { snapshot: snapshotOf({ object: deleted, ...seen }, spec), done },
    { ...at, now },
  );
}

/** `GetAccount`, `Waiting InUse`, `Released Retained`. */
function toText(step: AccountAction | Waiting | Released): string {
  if (step.kind === "Waiting") return `Waiting ${step.reason}`;
  if (step.kind !== "Released") return step.kind;
  return ["Released", ...step.events.map(({ reason }) => reason)].join(" ");
}

test.each<Case>([
  { name: "an object without an account is looked for", step: "ListAccounts" },
  {
    name: "an object whose account nobody knows goes at once",
    seen: { listing: none },
    step: "Released",
  },
  {
    name: "an account that may be its own stays, and is named",
    seen: { listing: unclear },
    step: "Released CleanupIncomplete",
  },
  {
    name: "an object that may have an account waits for the console",
    done: unanswered,
    step: "Waiting Unavailable",
  },
  {
    name: "users come before that",
    seen: { users: ["ApiKey ci-bot"] },
    done: unanswered,
    step: "Waiting InUse",
  },
  {
    name: "suspension holds what may need a call",
    spec: { suspend: true },
    done: unanswered,
    step: "Waiting Suspended",
  },
  {
    name: "an account that may be there and shall stay needs no answer",
    spec: { deletionPolicy: "Retain" },
    done: unanswered,
    step: "Released",
  },
  {
    name: "nor does one to import, which stays by default",
    spec: { saId: "sa-1" },
    done: unanswered,
    step: "Released",
  },
  {
    name: "users come first",
    seen: { users: ["ApiKey ci-bot"], account },
    step: "Waiting InUse",
  },
  {
    name: "suspension holds a deletion",
    seen: { account },
    spec: { suspend: true },
    step: "Waiting Suspended",
  },
  {
    name: "suspension holds one that needs no call as well",
    seen: { listing: none },
    spec: { suspend: true },
    step: "Waiting Suspended",
  },
  {
    name: "an imported account is retained without a call",
    seen: { account: imported },
    step: "Released Retained",
  },
  {
    name: "a created account is looked at before it is cleaned up",
    seen: { account },
    step: "GetAccount",
  },
  {
    name: "an account that a replica may only not know yet is cleaned up anyway",
    seen: { account, answer: { detail: undefined } },
    step: "RevokePolicies",
  },
  {
    name: "and deleted, where that is asked for",
    seen: { account, answer: { detail: undefined }, connection: { ok: true, access: deleting } },
    spec: { deletionPolicy: "Delete" },
    step: "DeleteAccount",
  },
  {
    name: "an unknown account without a resource name has nothing to be unbound from",
    seen: { account: { ...account, tpn: undefined }, answer: { detail: undefined } },
    step: "Released Released",
  },
  {
    name: "an account that the console knows no longer is not said to stay",
    seen: { account, answer: { detail: undefined } },
    done: { cleanedUp: "Revoked" },
    step: "Released Released",
  },
  {
    name: "another account than the object's is left alone",
    seen: { account, answer: { detail: { saId: "sa-1", name: "other", keyIds: [] } } },
    step: "Waiting ServiceAccountMismatch",
  },
  { name: "an open attempt is looked into first", seen: { attempt }, step: "ListAccounts" },
  {
    name: "an open attempt is looked into even to retain",
    seen: { attempt },
    spec: { deletionPolicy: "Retain" },
    step: "ListAccounts",
  },
  {
    name: "an attempt that has created nothing leaves nothing",
    seen: { attempt, listing: none },
    step: "Released",
  },
  {
    name: "an attempt that cannot be explained is a failure",
    seen: { attempt, listing: { ok: false, code: "MalformedResponse" } },
    step: "Waiting CreateOutcomeUnknown",
  },
])("$name", ({ step, ...given }) => {
  expect(toText(stepOf(given))).toBe(step);
});

test.each([
  { name: "a created account is revoked by default", spec: {}, seen: account, policy: "Revoke" },
  {
    name: "an imported account is retained by default",
    spec: {},
    seen: imported,
    policy: "Retain",
  },
  {
    name: "the spec decides",
    spec: { deletionPolicy: "Delete" },
    seen: imported,
    policy: "Delete",
  },
])("$name", ({ spec, seen, policy }) => {
  expect(policyOf(snapshotOf({ account: seen }, spec))).toBe(policy);
});

test("an account that another object manages is left as it is", () => {
  const other = serviceAccount({
    metadata: {
      ...deleted.metadata,
      name: "other",
      uid: "other",
      creationTimestamp: "2020-01-01T00:00:00Z",
    },
    status: { saId: account.saId },
  });
  const seen = { account, otherClaims: new Map([[account.saId, [claimOf(other)]]]) };
  expect(toText(stepOf({ seen }))).toBe("Released Released");
});

test("a console that cannot be used is a reason to wait, not to skip", () => {
  const waiting = reconciling("ConnectionNotReady", "not yet");
  expect(stepOf({ seen: { account, connection: { ok: false, waiting } } })).toEqual({
    ...waiting,
    afterMs: 30_000,
  });
  const grant = { ...access.grant, importServiceAccounts: false };
  const seen = { connection: { ok: true, access: { ...access, grant } } } as const;
  expect(stepOf({ seen, spec: { saId: "sa-9", deletionPolicy: "Revoke" } })).toMatchObject({
    kind: "Waiting",
    state: "Stalled",
    reason: "NotGranted",
  });
});

describe("policies that the namespace has no right to leave bound", () => {
  const bound = {
    ...deleted,
    status: { saId: "sa-1", bindings: { policyIds: ["p1"], leftPolicyIds: ["p2"] } },
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
  const ours = { kind: "RevokePolicies", only: ["p1", "p2"] };
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
    const step = stepOf({ seen: given, spec });
    expect(step).toMatchObject(expected);
    expect("only" in step).toBe("only" in expected);
  });

  test("are named when the account is left", () => {
    const seen = { account, answer, object: bound, ...granted({ retainPolicies: false }) };
    const step = stepOf({ seen, spec: retain, done: { cleanedUp: "RetainNotGranted" } });
    expect(step).toMatchObject({ kind: "Released", events: [{ type: "Warning" }] });
    expect(JSON.stringify(step)).toContain("p1, p2 were unbound");
  });
});

const GIVE_UP_AFTER_MS = 10 * MINUTE;
const failing = { done: unanswered, seen: { object: blockedSince(deleted, NOW) } };

test("what an object without a known account may have had is given up as well", () => {
  expect(stepOf(failing, NOW + GIVE_UP_AFTER_MS)).toMatchObject({
    events: [
      {
        type: "Warning",
        reason: "CleanupIncomplete",
        note: "Gave up cleaning up in the console and left the account of ServiceAccount team-a/ci-bot, if any: its status does not name it. Last reason: down",
      },
    ],
  });
});

test("a failing clean-up is given up after ten minutes, and says what is left", () => {
  const given = { ...failing, seen: { ...failing.seen, account } };
  expect(stepOf(given)).toEqual({ ...failure, afterMs: 30_000 });
  expect(stepOf({ ...given, seen: { account } })).toEqual({ ...failure, afterMs: 30_000 });
  const almost = NOW + GIVE_UP_AFTER_MS - 1_000;
  expect(stepOf(given, almost)).toMatchObject({ afterMs: 1_000 });
  expect(stepOf(given, NOW + GIVE_UP_AFTER_MS)).toEqual({
    kind: "Released",
    events: [
      {
        type: "Warning",
        reason: "CleanupIncomplete",
        action: "Delete",
        note: "Gave up cleaning up in the console and left service account sa-1 (tpn:r1:org-1:prj-1:sa/sa-1), keys when last listed: sak_1, with its policies. Last reason: down",
      },
    ],
  });
});
