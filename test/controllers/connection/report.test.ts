import { expect, test } from "vitest";
import type { Login } from "../../../src/controllers/connection/apply.ts";
import { loginReason } from "../../../src/controllers/connection/login-reason.ts";
import type { Observed } from "../../../src/controllers/connection/observe.ts";
import {
  authentication,
  inUseMessage,
  nextStatus,
  notes,
  readiness,
} from "../../../src/controllers/connection/report.ts";
import { IamError, type IamErrorCode } from "../../../src/iam/errors.ts";
import { Redacted } from "../../../src/util/redacted.ts";
import { connectionSpec } from "./specs.ts";

const NOW = Date.UTC(2026, 0, 1);
const seen: Observed = {
  key: "ClusterConnection/default",
  deleting: false,
  namespaceTerminating: false,
  held: true,
  spec: {
    ok: true,
    spec: connectionSpec(),
    credentials: { ok: true, credentials: { kind: "token", token: new Redacted("t") } },
    identity: undefined,
  },
  session: undefined,
  users: ["ServiceAccount a/b"],
  asked: undefined,
};
const failed = (code: IamErrorCode): Login => {
  const error = new IamError(code, "console says no", { operation: "login", requestId: "r-1" });
  return { kind: "Failed", reason: loginReason(error), error };
};
const object = {
  apiVersion: "iam-operator.io/v1alpha1",
  kind: "ClusterConnection",
  metadata: { name: "default", uid: "u1", resourceVersion: "1", generation: 2 },
  spec: connectionSpec(),
};

test.each<{ code: IamErrorCode; status: string; reason: string; state: string }>([
  { code: "Unauthenticated", status: "False", reason: "LoginFailed", state: "Reconciling" },
  { code: "PermissionDenied", status: "False", reason: "LoginFailed", state: "Reconciling" },
  { code: "MfaRequired", status: "False", reason: "MfaRequired", state: "Stalled" },
  { code: "LoginPaused", status: "False", reason: "LoginPaused", state: "Reconciling" },
  { code: "Unavailable", status: "Unknown", reason: "ConsoleUnavailable", state: "Reconciling" },
  { code: "Timeout", status: "Unknown", reason: "ConsoleUnavailable", state: "Reconciling" },
])("a login that fails with $code is $reason", ({ code, status, reason, state }) => {
  const authenticated = authentication(seen, failed(code));
  expect(authenticated).toMatchObject({ status, reason });
  expect(authenticated.message).toContain("requestId r-1");
  expect(readiness(seen, authenticated)).toMatchObject({ state, reason });
});

test("what holds a deletion comes before the login", () => {
  const authenticated = authentication(seen, { kind: "Accepted", isNew: false });
  expect(readiness({ ...seen, deleting: true }, authenticated)).toEqual({
    state: "Reconciling",
    reason: "InUse",
    message: "Deletion waits for what still uses it: ServiceAccount a/b. Delete these first.",
  });
});

test("five users are named and the rest is counted", () => {
  expect(inUseMessage(["a", "b", "c", "d", "e", "f", "g"])).toBe(
    "Deletion waits for what still uses it: a, b, c, d, e and 2 more. Delete these first.",
  );
});

const report = (skewSeconds: number | undefined, isNew = true) => {
  const login: Login = { kind: "Accepted", isNew };
  const authenticated = authentication(seen, login);
  return { ready: readiness(seen, authenticated), authenticated, login, skewSeconds };
};

test("a status says when the login was accepted, and an old one does not move", () => {
  const first = nextStatus(object, seen, report(0.4), NOW);
  expect(first).toMatchObject({
    observedGeneration: 2,
    users: 1,
    apiURL: "https://console.example.com",
    lastAuthenticationTime: "2026-01-01T00:00:00Z",
    clockSkewSeconds: 0,
  });
  const later = nextStatus({ ...object, status: first }, seen, report(3, false), NOW + 60_000);
  expect(later).toEqual(first);
});

test("readiness and a drifting clock each make one event", () => {
  const first = nextStatus(object, seen, report(400), NOW);
  expect(notes(undefined, first).map(({ type, reason }) => `${type} ${reason}`)).toEqual([
    "Normal Authenticated",
    "Warning ClockSkewed",
  ]);
  expect(notes(first, first)).toEqual([]);
});
