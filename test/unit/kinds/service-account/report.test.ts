import { expect, test } from "vitest";
import { CREATING } from "../../../../src/accounts/new-account.ts";
import { findCondition } from "../../../../src/api/conditions.ts";
import type { ServiceAccountStatus } from "../../../../src/api/service-account.ts";
import { report } from "../../../../src/kinds/service-account/rules/report.ts";
import type {
  AccountSnapshot,
  AccountState,
} from "../../../../src/kinds/service-account/rules/snapshot.ts";
import type { Outcome } from "../../../../src/reconciler/rules/outcome.ts";
import { readinessOf, statusOf } from "../../../../src/reconciler/rules/report.ts";
import { reconciling } from "../../../../src/reconciler/rules/waiting.ts";
import { MINUTE, toIso8601 } from "../../../../src/util/time.ts";
import { blockedSince } from "../blocked-cleanup.ts";
import { account, at, deleted, NOW, serviceAccount, snapshotOf, using } from "./objects.ts";

interface Given {
  readonly seen?: Partial<AccountSnapshot>;
  readonly spec?: object;
  readonly state?: AccountState;
}

function reportOf({ seen, spec, state }: Given, outcome: Outcome) {
  return report(snapshotOf(seen, spec), outcome, at, state);
}

const waits = reconciling("X", "y");
const settled = { kind: "Settled" } as const;
const suspended = { kind: "Suspended" } as const;

const listedAt = toIso8601(NOW - 60_000);
const status = { saId: "sa-1", liveKeyIds: ["sak_1"], keyCount: 1, lastKeyListTime: listedAt };

const ago = (seconds: number) => NOW - seconds * 1_000;
const now = toIso8601(NOW);

test.each<[string, readonly string[] | undefined, number | undefined, string | undefined]>([
  ["stays while the list does", ["sak_1"], undefined, listedAt],
  ["moves with the list", ["sak_1", "sak_2"], undefined, now],
  ["moves past a younger key that the console does not list", ["sak_1"], ago(30), now],
  ["stays while an older key is missing", ["sak_1"], ago(90), listedAt],
  ["is not said if the console lists no keys", undefined, undefined, undefined],
])("the time of the key list %s", (_, liveKeyIds, unlistedKeyTime, time) => {
  const object = serviceAccount({ status });
  const known = { ...account, liveKeyIds };
  const { objects } = reportOf(
    { seen: { object, account: known, unlistedKeyTime, lookTime: NOW } },
    settled,
  );
  const reported = objects[0]?.status as ServiceAccountStatus;
  expect(reported).toMatchObject({ saId: "sa-1" });
  expect(reported.lastKeyListTime).toBe(time);
  expect(reported, "a list of none is left out").not.toHaveProperty("explainedAttempts");
});

test("a request stores the time of the list, even of the same one", () => {
  const seen = { object: serviceAccount({ status }), request: "now", lookTime: NOW };
  const known = { ...account, liveKeyIds: ["sak_1"] };
  const { objects } = reportOf({ seen: { ...seen, account: known } }, settled);
  expect(objects[0]?.status).toMatchObject({ lastKeyListTime: now });
});

test("the time of a key list is said even if the status has the list without it", () => {
  const object = serviceAccount({ status: { ...status, lastKeyListTime: undefined } });
  const { objects } = reportOf({ seen: { object, account, lookTime: NOW } }, settled);
  expect(objects[0]?.status).toMatchObject({ lastKeyListTime: now });
});

test.each([
  ["names no account", undefined, { resourceVersion: "7" }],
  ["names the account", account, {}],
])("a status that %s is written over the version read, or over any", (_, known, write) => {
  const object = serviceAccount({ metadata: { resourceVersion: "7" } });
  const { objects } = reportOf({ seen: { object, account: known } }, waits);
  expect(objects[0]?.write).toEqual(write);
});

test("the time of a key list that lies in the future is corrected", () => {
  const future = { ...status, lastKeyListTime: toIso8601(NOW + 60_000_000) };
  const seen = { object: serviceAccount({ status: future }), account };
  const { objects } = reportOf(
    { seen: { ...seen, account: { ...account, liveKeyIds: ["sak_1"] } } },
    settled,
  );
  expect(objects[0]?.status).toMatchObject({ lastKeyListTime: now });
});

test("a look is remembered, and repeated sooner where the account is not in order", () => {
  const seen = { account, lookTime: NOW - 5 };
  const healthy = reportOf({ seen }, settled);
  expect(healthy.state?.lastRead).toEqual({
    saId: "sa-1",
    consoleURL: "https://console.example.com",
    generation: 1,
    startTime: NOW - 5,
    nextTime: NOW + 285_000,
    keyRequests: [],
    finding: undefined,
  });
  expect(healthy.requeueAfterMs).toBe(285_000);
  const revoking = reportOf({ seen, spec: { access: "Revoked" } }, settled);
  expect(revoking.requeueAfterMs).toBe(285_000);
  const ailing = reconciling("TpnUnknown", "no tpn");
  expect(reportOf({ seen }, ailing).requeueAfterMs).toBe(57_000);
});

test("what the last look has found instead of the account is remembered with it", () => {
  const seen = { account, answer: { detail: undefined }, lookTime: NOW };
  const { state } = reportOf({ seen }, suspended);
  expect(state?.lastRead?.finding).toMatchObject({ reason: "ServiceAccountGone" });
});

test("a failed run forgets nothing and answers no request", () => {
  const state = {
    lastRead: {
      saId: "sa-1",
      consoleURL: account.consoleURL,
      generation: 1,
      startTime: NOW - 2,
      nextTime: NOW - 1,
      keyRequests: [],
      finding: undefined,
    },
  };
  const made = reportOf({ seen: { account, request: "now", lookTime: NOW }, state }, failed);
  expect(made).toMatchObject({ state, requeueAfterMs: undefined });
  expect(made.objects[0]).toMatchObject({ readiness: down, handledRequest: undefined });
  const answered = reportOf({ seen: { account, request: "now" } }, settled);
  expect(answered.objects[0]).toMatchObject({ handledRequest: "now" });
});

test.each<[string, string | undefined]>([
  [CREATING, undefined],
  ["TpnUnknown", "now"],
])("a request is handled, but not before the account is created (%s)", (reason, handledRequest) => {
  const waiting = reconciling(reason, "not yet");
  const [object] = reportOf({ seen: { account, request: "now" } }, waiting).objects;
  expect(object?.handledRequest).toBe(handledRequest);
});

test.each([
  ["Revoked", {}, true],
  ["Revoked", { revocation: { evidence: "Read" as const, time: now } }, false],
  ["Granted", {}, false],
])("a run for access %s with %j is urgent: %s", (access, bindings, isUrgent) => {
  const object = serviceAccount({ status: { bindings } });
  expect(reportOf({ seen: { object, account }, spec: { access } }, suspended).isUrgent).toBe(
    isUrgent,
  );
});

test.each<[string, number | undefined, readonly string[], number | undefined]>([
  ["is absent until a list has shown a key", undefined, [], undefined],
  ["is the length of the first list with a key", undefined, ["sak_1"], 1],
  ["falls to zero", 1, [], 0],
])("the count of keys %s", (_, keyCount, liveKeyIds, expected) => {
  const seen = {
    object: serviceAccount({ status: { saId: "sa-1", keyCount } }),
    account: { ...account, liveKeyIds },
  };
  const reported = reportOf({ seen }, settled).objects[0]?.status as ServiceAccountStatus;
  expect(reported.keyCount).toBe(expected);
});

test("keys of an account that the console no longer has are not counted", () => {
  const seen = {
    object: serviceAccount({ status: { saId: "sa-1", keyCount: 1, ownership: "Gone" } }),
    account,
  };
  const reported = reportOf({ seen }, settled).objects[0]?.status as ServiceAccountStatus;
  expect(reported.keyCount).toBeUndefined();
});

test("the condition KeysManaged is reported, except during a deletion", () => {
  const typesOf = (object: AccountSnapshot["object"]) =>
    reportOf({ seen: { object, account } }, settled).objects[0]?.conditions?.map(
      ({ type }) => type,
    );
  expect(typesOf(serviceAccount())).toEqual(["KeysManaged", "AccessRevoked"]);
  expect(typesOf(deleted)).toEqual(["AccessRevoked"]);
});

const unnamed = new Map([["sak_1", { noticedTime: NOW - MINUTE, marker: undefined }]]);

test("a run reports what became of the object, unmanaged keys and orphaned accounts", () => {
  const markedAccounts = [{ saId: "sa-2", description: "" }];
  const listing = { ok: false, code: "MalformedResponse" } as const;
  const found = { account, markedAccounts, listing, became: "Imported" } as const;
  const { events = [] } = reportOf({ seen: { ...found, state: { unnamed } } }, settled);
  const reasons = events.map(({ event }) => event.reason);
  expect(reasons).toEqual(["Imported", "UnmanagedKey", "OrphanedAccount"]);
  expect(events[0]?.event.note).toBe(`Imported service account sa-1 (${account.tpn}).`);
});

const audited = {
  ...status,
  unmanagedKeys: [{ keyId: "sak_2", observedTime: now }],
  unmanagedKeyCount: 1,
};

test.each<[string, object, Partial<AccountSnapshot>, boolean]>([
  ["stays during a deletion", deleted.metadata, { account }, true],
  ["goes with the key", {}, { account, state: { unnamed } }, false],
  ["goes if keys are not listed", {}, { account: { ...account, liveKeyIds: undefined } }, false],
])("an unmanaged key in the status %s", (_, metadata, seen, stays) => {
  const object = serviceAccount({ metadata, status: audited });
  const { objects } = reportOf({ seen: { object, ...seen } }, settled);
  expect(JSON.stringify(objects[0]?.status).includes("sak_2")).toBe(stays);
});

const attempt = { id: "a-2", startTime: NOW, name: undefined, described: undefined };
const unreadableResponse = { attemptId: "a-2", message: "status 201", circumstances: "c" };

test("a response that cannot be read is remembered as long as its attempt is open", () => {
  const open = reportOf({ seen: { attempt, unreadableResponse } }, waits);
  expect(open.objects[0]?.status).toMatchObject({ unreadableResponse });
  expect(open.state?.unreadableResponse).toEqual(unreadableResponse);
  const closed = reportOf({ seen: { account, unreadableResponse } }, settled);
  expect(closed.objects[0]?.status).not.toHaveProperty("unreadableResponse", unreadableResponse);
  expect(closed.state?.unreadableResponse).toBeUndefined();
});

test("the last attempt is the last one that was closed", () => {
  const lastAttemptId = (seen: Partial<AccountSnapshot>) => {
    const stored = { attempt: { id: "a-2", startTime: now }, lastAttemptId: "a-1" };
    const object = serviceAccount({ status: stored });
    return reportOf({ seen: { object, ...seen } }, waits).objects[0]?.status;
  };
  expect(lastAttemptId({ attempt })).toMatchObject({ lastAttemptId: "a-1" });
  expect(lastAttemptId({ account })).toMatchObject({ lastAttemptId: "a-2" });
});

const lastRead = { consoleURL: undefined, generation: 1, keyRequests: [], finding: undefined };
const readBefore = {
  lastRead: { ...lastRead, saId: "sa-1", startTime: NOW - MINUTE, nextTime: NOW },
};

test.each<[string, Given, Outcome, number | undefined]>([
  ["a second from now at the soonest", { seen: { account }, state: readBefore }, settled, 1_000],
  ["at no time of its own before the first read", { seen: { account } }, suspended, undefined],
  [
    "at the usual time for an account that it has not found",
    { seen: { lookTime: NOW } },
    waits,
    285_000,
  ],
])("the next run is %s", (_, given, outcome, afterMs) => {
  expect(reportOf(given, outcome).requeueAfterMs).toBe(afterMs);
});

test("the answer of a creation is kept until the status names the account", () => {
  const created = { attempt: "a-1", account: { saId: "sa-1" } };
  const unwritten = reportOf({ seen: { account }, state: { created } }, settled);
  expect(unwritten.state?.created).toBe(created);
  const object = serviceAccount({ status });
  const written = reportOf({ seen: { account, object }, state: { created } }, settled);
  expect(written.state?.created).toBeUndefined();
});

const gone = { account, answer: { detail: undefined } };

test.each<[string, Partial<AccountSnapshot>, string]>([
  ["in use", { account }, "Ready Suspended"],
  ["without an account", {}, "Stalled Suspended"],
  ["whose account is gone, which others have to know", gone, "Stalled ServiceAccountGone"],
])("a suspended object %s says so", (_, seen, said) => {
  const [object] = reportOf({ seen, spec: { suspend: true } }, suspended).objects;
  if (object === undefined) throw new Error("nothing is reported");
  const { state, reason } = readinessOf(object);
  expect(`${state} ${reason}`).toBe(said);
});

test("an account that is gone has no state any more", () => {
  const statusOf = (seen: Partial<AccountSnapshot>) =>
    reportOf({ seen, spec: { suspend: true } }, suspended).objects[0]?.status;
  expect(statusOf({ account })).toMatchObject({ state: "active" });
  expect(statusOf(gone)).not.toHaveProperty("state");
});

test("only a suspended run reports the object as suspended", () => {
  const [object] = reportOf({ seen: { account } }, settled).objects;
  expect(object?.suspended).toBe(false);
});

test("a deletion says what it waits for even while it is suspended", () => {
  const seen = { object: deleted, account, users: [using("Keys", "ApiKey key")] };
  const waiting = { ...reconciling("Suspended", "suspended"), kind: "Waiting" } as const;
  const [object] = reportOf({ seen, spec: { suspend: true } }, waiting).objects;
  expect(object?.readiness).toMatchObject({ state: "Reconciling", reason: "InUse" });
});

const down = { state: "Reconciling", reason: "Unavailable", message: "down" } as const;
const failed = { kind: "Failed", error: new Error("down"), readiness: down } as const;

test.each([
  ["ServiceAccountGone", "ServiceAccountGone"],
  ["TooManyServiceAccounts", "Unavailable"],
])("an object Stalled with %s is %s after a failed run", (before, after) => {
  const stalled = { type: "Stalled", status: "True", reason: before, message: "." } as const;
  const conditions = [{ ...stalled, lastTransitionTime: now }];
  const object = serviceAccount({ status: { saId: "sa-1", conditions } });
  const [reported] = reportOf({ seen: { object, account } }, failed).objects;
  expect(reported?.readiness.reason).toBe(after);
});

test("an organization that the status lacks stays absent", () => {
  const seen = { account: { ...account, orgId: "" } };
  const reported = reportOf({ seen }, settled).objects[0]?.status as ServiceAccountStatus;
  expect(reported.orgId).toBeUndefined();
});

test.each<[string, AccountSnapshot["object"], Outcome, boolean | undefined]>([
  ["of no object that is not being deleted", serviceAccount(), waits, undefined],
  ["as before after a failed run", deleted, failed, undefined],
  ["not if nothing has failed", deleted, waits, false],
])("a cleanup is blocked: %s", (_, object, outcome, isBlocked) => {
  const [reported] = reportOf({ seen: { object, account } }, outcome).objects;
  expect(reported?.isCleanupBlocked).toBe(isBlocked);
});

test("a cleanup is blocked from its first failure", () => {
  const failure = reconciling("Unavailable", "down");
  const blocked = (seen: Partial<AccountSnapshot>) => {
    const [object] = reportOf({ seen: { ...seen, isCleanupBlocked: true } }, failure).objects;
    if (object === undefined) throw new Error("nothing is reported");
    return findCondition(statusOf(object, { now: NOW }).conditions, "CleanupBlocked");
  };
  const first = blocked({ object: deleted, account });
  expect(first).toMatchObject({ status: "True", reason: "Unavailable" });
  expect(first?.lastTransitionTime).toBe(toIso8601(NOW));
  const object = blockedSince(deleted, NOW - MINUTE);
  const again = blocked({ object, account });
  expect(again?.lastTransitionTime).toBe(toIso8601(NOW - MINUTE));
  expect(again?.message).toContain(`retries until ${toIso8601(NOW + 9 * MINUTE)}`);
});

test.each([
  ["ServiceAccountNotActive", true],
  ["ServiceAccountNotFound", true],
  ["ServiceAccountGone", true],
  ["ServiceAccountMismatch", true],
  ["OrganizationMismatch", true],
  ["ProjectMismatch", true],
  ["ProjectMissing", false],
])("that an account is %s stays reported while calls fail: %s", (reason, stays) => {
  const condition = { type: "Stalled", status: "True", reason, message: "It is so." } as const;
  const conditions = [{ ...condition, lastTransitionTime: now }];
  const object = serviceAccount({ status: { conditions } });
  const readiness = reconciling("Timeout", "No answer.");
  const outcome = { kind: "Failed", error: new Error("no"), readiness } as const;
  const [made] = reportOf({ seen: { object } }, outcome as never).objects;
  expect(made?.readiness.reason).toBe(stays ? reason : "Timeout");
});
