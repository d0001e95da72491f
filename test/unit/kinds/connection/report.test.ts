import { expect, test } from "vitest";
import { findCondition } from "../../../../src/api/conditions.ts";
import { IamError, type IamErrorCode } from "../../../../src/console/errors.ts";
import { authentication, stateFor } from "../../../../src/kinds/connection/rules/authentication.ts";
import { loginReason } from "../../../../src/kinds/connection/rules/login-reason.ts";
import { report } from "../../../../src/kinds/connection/rules/report.ts";
import type { ConnectionSnapshot, Login } from "../../../../src/kinds/connection/rules/snapshot.ts";
import { standing } from "../../../../src/kinds/connection/run.ts";
import type { Outcome } from "../../../../src/reconciler/rules/outcome.ts";
import { statusOf } from "../../../../src/reconciler/rules/report.ts";
import { clusterConnectionType } from "../../../../src/resources/resource-types.ts";
import { MINUTE, SECOND, toIso8601 } from "../../../../src/util/time.ts";
import { at, snapshot as inOrder, NOW } from "./snapshot.ts";

const users = ["ServiceAccount a/b"];
const snapshot = { ...inOrder, identity: undefined, session: undefined, users };

/** What the connection says after a login. */
function reported(login: Login, changes: Partial<ConnectionSnapshot> = {}, now = NOW) {
  const after = { ...snapshot, ...changes, login };
  const made = report(clusterConnectionType, after, standing(after), { ...at, now });
  const [object] = made.objects;
  if (object === undefined) throw new Error("nothing is reported");
  const events = made.events?.map(({ event: { type, reason } }) => `${type} ${reason}`);
  return { status: statusOf(object, { now }), readiness: object.readiness, events };
}

const failed = (code: IamErrorCode): Login => {
  const error = new IamError(code, "console says no", { operation: "login", requestId: "r-1" });
  return { kind: "Failed", reason: loginReason(error), error };
};
const accepted = { kind: "Accepted", isNew: true } as const;

test.each([
  { what: "a new login soon after another", status: "True", minutes: 59, isNoted: false },
  { what: "one an hour later", status: "True", minutes: 60, isNoted: true },
  { what: "one after a refusal", status: "False", minutes: 1, isNoted: true },
  { what: "one after a moment of the future", status: "True", minutes: -1, isNoted: true },
] as const)("the time of $what is noted: $isNoted", ({ status, minutes, isNoted }) => {
  const before = toIso8601(NOW - minutes * MINUTE);
  const condition = { type: "Authenticated", status, reason: "Any", message: "" } as const;
  const conditions = [{ ...condition, lastTransitionTime: before, observedGeneration: 2 }];
  const stored = { users: 1, lastAuthenticationTime: before, conditions };
  const { status: after } = reported(accepted, { object: { ...snapshot.object, status: stored } });
  expect(after).toMatchObject({ lastAuthenticationTime: isNoted ? toIso8601(NOW) : before });
});

test.each<[IamErrorCode, string, string, string]>([
  ["Unauthenticated", "LoginFailed", "False", "Stalled"],
  ["PermissionDenied", "LoginFailed", "False", "Stalled"],
  ["MfaRequired", "MfaRequired", "False", "Stalled"],
  ["LoginPaused", "LoginPaused", "False", "Stalled"],
  ["Unavailable", "ConsoleUnavailable", "Unknown", "Reconciling"],
  ["Timeout", "ConsoleUnavailable", "Unknown", "Reconciling"],
])("a login that fails with %s is %s", (code, reason, status, state) => {
  const said = reported(failed(code));
  const authenticated = findCondition(said.status.conditions, "Authenticated");
  expect(authenticated).toMatchObject({ status, reason });
  expect(authenticated?.message).toContain("requestId r-1");
  expect(said.readiness).toMatchObject({ state, reason });
});

test.each<[string, IamErrorCode, number | undefined, boolean]>([
  ["400", "Unauthenticated", 400, false],
  ["401", "Unauthenticated", 401, false],
  ["403", "Unauthenticated", 403, false],
  ["409", "Unauthenticated", 409, false],
  ["422", "Unauthenticated", 422, false],
  ["423", "Unauthenticated", 423, false],
  ["200 without a token", "Unauthenticated", 200, true],
  ["a redirect", "Unauthenticated", 302, true],
  ["a body that is too large", "Unauthenticated", undefined, true],
  ["pages until it was paused", "LoginPaused", 200, true],
  ["401 until it was paused", "LoginPaused", 401, false],
  ["503", "Unavailable", 503, false],
])("a login answered with %s may point elsewhere", (_, code, status, isElsewhere) => {
  const error = new IamError(code, "no", { operation: "login", ...(status && { status }) });
  const login = { kind: "Failed", reason: loginReason(error), error } as const;
  const message = findCondition(reported(login).status.conditions, "Authenticated")?.message ?? "";
  expect(message.includes("spec.baseURL")).toBe(isElsewhere);
  expect(message.includes("the credentials Secret")).toBe(code !== "Unavailable");
});

test.each<[IamErrorCode, number]>([
  ["Unauthenticated", 404],
  ["Unauthenticated", 405],
  ["LoginPaused", 404],
])(
  "a login answered with %s (%d) says to correct the address, not the credentials",
  (code, status) => {
    const error = new IamError(code, "no", { operation: "login", status });
    const login = { kind: "Failed", reason: loginReason(error), error } as const;
    const message =
      findCondition(reported(login).status.conditions, "Authenticated")?.message ?? "";
    expect(message).toContain("path of spec.baseURL");
    expect(message).not.toMatch(/credentials Secret/);
  },
);

test("an address that the operator refuses is not told as an outage, but with what to correct", () => {
  const details = { operation: "login", sent: false, isAddressRefused: true };
  const error = new IamError("Unavailable", "login was not sent: connections must not", details);
  const said = reported({ kind: "Failed", reason: loginReason(error), error });
  const authenticated = findCondition(said.status.conditions, "Authenticated");
  expect(authenticated).toMatchObject({ status: "Unknown", reason: "AddressRefused" });
  expect(authenticated?.message).toMatch(/^Login was not sent: .* Correct spec\.baseURL, /);
  expect(said.readiness).toMatchObject({ state: "Stalled", reason: "AddressRefused" });
});

test("a status says when the login was accepted, and an old one does not move", () => {
  const { status: first } = reported(accepted, { clockSkewSeconds: 0.4 });
  expect(first).toMatchObject({
    observedGeneration: 2,
    users: 1,
    lastAuthenticationTime: "2026-01-01T00:00:00Z",
    clockSkewSeconds: 0,
  });
  const object = { ...snapshot.object, status: first as typeof snapshot.object.status };
  const changes = { object, clockSkewSeconds: 3 } as Partial<ConnectionSnapshot>;
  expect(reported({ ...accepted, isNew: false }, changes, NOW + 60_000).status).toEqual(first);
});

const unusable = { spec: { ok: false, suspend: false, message: "no" } } as const;
const failedRun: Outcome = {
  kind: "Failed",
  error: new Error("no"),
  readiness: { state: "Reconciling", reason: "Unavailable", message: "no" },
};

test.each<[string, Partial<ConnectionSnapshot>, Outcome | undefined, Login, boolean, boolean]>([
  ["a login that is accepted", {}, undefined, accepted, true, true],
  ["a login that fails", {}, undefined, failed("Unauthenticated"), true, false],
  ["an invalid spec", unusable, undefined, accepted, true, true],
  ["a run that fails", {}, failedRun, accepted, false, false],
])(
  "whether a request is handled, and the next check, after %s",
  (_, changes, end, login, known, final) => {
    const after = { ...snapshot, request: "now", ...changes, login };
    const made = report(clusterConnectionType, after, end ?? standing(after), at);
    expect(made.objects[0]?.handledRequest).toBe(known ? "now" : undefined);
    expect(made.objects[0]?.conditions).toHaveLength(known ? 1 : 0);
    expect(made.requeueAfterMs).toBe(final ? MINUTE : 12 * SECOND);
  },
);

const elsewhere = "A console rejects credentials in other ways";
const wrongAddress = "No login was found at this address";

test.each([
  ...[400, 401, 403, 409, 422, 423].map((status) => [status, "Correct the credentials"] as const),
  ...[404, 405].map((status) => [status, wrongAddress] as const),
  ...[200, 302, 418].map((status) => [status, elsewhere] as const),
])("a login that is answered with %i says where to look: %s", (status, words) => {
  const error = new IamError("Unauthenticated", "no", { operation: "login", status });
  const { message } = authentication({
    ...snapshot,
    login: { kind: "Failed", reason: "LoginFailed", error },
  });
  const found = [elsewhere, wrongAddress].filter((each) => message.includes(each));
  expect(found).toEqual(words === "Correct the credentials" ? [] : [words]);
});

test.each([
  ["SecretNotFound", "Reconciling"],
  ["ConfigMapNotFound", "Reconciling"],
  ["ConsoleUnavailable", "Reconciling"],
  ["LoginFailed", "Stalled"],
])("what waits for a connection with %s is %s", (reason, state) => {
  expect(stateFor(reason)).toBe(state);
});

test("a clock that is set is reported, and an old login is not dated", () => {
  const status = { users: 1, clockSkewSeconds: 0 };
  const changes = { object: { ...snapshot.object, status }, clockSkewSeconds: 60 };
  const { status: after } = reported({ ...accepted, isNew: false }, changes);
  expect(after).toMatchObject({ clockSkewSeconds: 60 });
  expect(after).not.toHaveProperty("lastAuthenticationTime");
});

test("the clock's difference stays until it is seen again", () => {
  const status = { users: 1, clockSkewSeconds: 60 };
  const { status: after } = reported(accepted, { object: { ...snapshot.object, status } });
  expect(after).toMatchObject({ clockSkewSeconds: 60 });
});

const refusal = { at: NOW, count: 1, until: NOW + MINUTE, message: "no" };

test.each<[string, boolean, Login | undefined, string]>([
  ["after a refusal, until the next login", false, undefined, "LoginFailed"],
  ["if a login was accepted since", true, undefined, "Authenticated"],
  ["if this run's login was accepted", false, accepted, "Authenticated"],
])("a connection reports %s: usable %s", (_, usable, login, reason) => {
  const session = { usable, refusal } as unknown as ConnectionSnapshot["session"];
  expect(authentication({ ...snapshot, session, ...(login && { login }) }).reason).toBe(reason);
});

test("clocks that drift apart make one event", () => {
  const first = reported(accepted, { clockSkewSeconds: 400 });
  expect(first.events).toEqual(["Warning ClockSkewed"]);
  const object = { ...snapshot.object, status: first.status as typeof snapshot.object.status };
  const changes = { object, clockSkewSeconds: 400 } as Partial<ConnectionSnapshot>;
  expect(reported(accepted, changes).events).toEqual([]);
});

test.each([
  [true, "Ready"],
  [false, "Stalled"],
])("a suspended connection whose login is usable (%s) is %s", (usable, state) => {
  const session = { usable } as ConnectionSnapshot["session"];
  const made = report(clusterConnectionType, { ...snapshot, session }, { kind: "Suspended" }, at);
  expect(made.objects[0]?.readiness.state).toBe(state);
  expect(made.objects[0]?.conditions).toEqual([]);
});
