import { expect, test } from "vitest";
import { accessConditions } from "../../../../src/kinds/service-account/rules/access.ts";
import { readinessOf } from "../../../../src/kinds/service-account/rules/readiness.ts";
import { account, serviceAccount, snapshotOf } from "./objects.ts";

const revoked = (bindings: object | undefined, access: "Granted" | "Revoked" = "Revoked") => {
  const object = serviceAccount({ status: { saId: "sa-1", ...(bindings && { bindings }) } });
  return snapshotOf({ account, object }, { access });
};

const DAY = "2026-01-01T00:00:00Z";
const REVOKING = "RevokingAccess";
const REVOKED = "AccessRevoked";
const read = { evidence: "Read", time: DAY } as const;
const accepted = { evidence: "AcceptedCall", time: DAY } as const;
const unanswered = { revocation: read, unansweredSync: { time: DAY, policyIds: ["p"] } };

test.each([
  ["nothing was read yet", undefined, REVOKING, "Access is being revoked. Set"],
  [
    "policies are bound",
    { policyCount: 2 },
    REVOKING,
    "Policies that were bound when last read: 2.",
  ],
  [
    "policies are bound although the console accepted an empty list",
    { policyCount: 2, revocation: accepted },
    REVOKING,
    "Policies that were bound when last read: 2.",
  ],
  ["none was bound before", { lastSyncTime: DAY }, REVOKING, "Access is being revoked. Set"],
  [
    "the console accepted an empty list and does not show the policies",
    { revocation: accepted, unreadable: true },
    "SyncUnconfirmed",
    `accepted an empty list of policies at ${DAY}. Its answer about the bound policies cannot be read`,
  ],
  [
    "reads contradict an answer before access was revoked",
    { policyCount: 2, notAppliedTime: DAY },
    REVOKING,
    "Access is being revoked. Policies that were bound when last read: 2.",
  ],
  [
    "reads contradict the answer",
    { policyCount: 2, revocationNotAppliedTime: DAY },
    "ChangeNotApplied",
    `reads since ${DAY} show that policies are still bound. The call is repeated. Policies that were bound when last read: 2.`,
  ],
  [
    "a call that may still take effect was never answered",
    { policyCount: 2, unansweredSync: { time: DAY } },
    REVOKING,
    "intervals until 2026-01-01T00:10:00Z",
  ],
  ["a read has confirmed it", { revocation: read }, REVOKED, `confirmed by a read at ${DAY}`],
  ["a call may still take effect", unanswered, REVOKED, "intervals until 2026-01-01T00:10:00Z"],
])(
  "a revoked account is Ready when its revocation is proven: %s",
  (_, bindings, reason, message) => {
    const snapshot = revoked(bindings && { policyCount: 0, ...bindings });
    const readiness = readinessOf(snapshot);
    expect(readiness.message).toContain(message);
    expect(readiness.message).toContain("a leaked key of the account then works again");
    const states: Readonly<Record<string, readonly string[]>> = {
      [REVOKED]: ["Ready", "True"],
      SyncUnconfirmed: ["Unknown", "Unknown"],
    };
    const [state, status] = states[reason] ?? ["Reconciling", "False"];
    expect(readiness).toMatchObject({ state, reason });
    expect(accessConditions(snapshot)).toEqual([
      { type: "AccessRevoked", status, reason, message: readiness.message },
    ]);
  },
);

test("an account with access is Created, whatever is bound", () => {
  const snapshot = revoked({ policyCount: 0 }, "Granted");
  expect(readinessOf(snapshot)).toMatchObject({ state: "Ready", reason: "Created" });
  expect(accessConditions(snapshot)).toEqual([{ type: "AccessRevoked" }]);
});

test("a revoked account that is not in order says so first", () => {
  const snapshot = { ...revoked({ policyCount: 2 }), account: { ...account, state: "locked" } };
  expect(readinessOf(snapshot)).toMatchObject({ reason: "ServiceAccountNotActive" });
});

test("nothing is bound to an account that the console no longer has", () => {
  const revoking = revoked({ policyCount: 2 });
  const { metadata, status } = revoking.object;
  const object = serviceAccount({ metadata, status: { ...status, ownership: "Gone" } });
  const [condition] = accessConditions({ ...revoking, object });
  expect(condition).toMatchObject({ status: "True", reason: "ServiceAccountGone" });
});

test("nothing is said about the access of an account that is not known yet", () => {
  const snapshot = { ...revoked({ policyCount: 0 }), account: undefined };
  expect(accessConditions(snapshot)).toEqual([{ type: "AccessRevoked" }]);
});
