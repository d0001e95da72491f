import { expect, test } from "vitest";
import { annotations } from "../../../src/api/meta.ts";
import { clientIdentity } from "../../../src/connections/client-settings.ts";
import { IamError, type IamErrorCode } from "../../../src/console/errors.ts";
import type { ApiKeySnapshot } from "../../../src/kinds/api-key/rules/snapshot.ts";
import { withAttempt, withoutAttempt } from "../../../src/kinds/api-key/rules/transitions.ts";
import {
  isStopped,
  unreadableResponse,
} from "../../../src/reconciler/rules/unreadable-response.ts";
import * as keys from "./api-key/builders.ts";
import { connectionSpec } from "./connection/specs.ts";
import * as accounts from "./service-account/objects.ts";

const spec = clientIdentity(connectionSpec());
const object = keys.object();
const failed = (code: IamErrorCode) => {
  const message = "issueKey was answered with status 201, but the answer cannot be understood: why";
  return new IamError(code, message, { operation: "issueKey", status: 201, requestId: "r-7" });
};
const recorded = (on: ApiKeySnapshot["object"], attemptId = "a-1") => {
  const response = unreadableResponse(failed("MalformedResponse"), attemptId, on, spec);
  if (response === undefined) throw new Error("nothing is recorded");
  return response;
};

test.each<[IamErrorCode, boolean]>([
  ["MalformedResponse", true],
  ["Unavailable", false],
  ["Timeout", false],
  ["FailedPrecondition", false],
  ["AlreadyExists", false],
  ["PermissionDenied", false],
])("a call that failed with %s stops: %s", (code, stops) => {
  expect(unreadableResponse(failed(code), "a-1", object, spec) !== undefined).toBe(stops);
  expect(unreadableResponse(new Error("any"), "a-1", object, spec)).toBeUndefined();
});

const request = { [annotations.reconcileRequestedAt]: "one" };

test.each<[string, object, object, boolean]>([
  ["nothing", {}, {}, true],
  ["a label", { labels: { a: "b" } }, {}, true],
  ["another version of the object", { resourceVersion: "9" }, {}, true],
  ["the spec", { generation: 2 }, {}, false],
  ["a request", { annotations: request }, {}, false],
  ["how often accounts are read", {}, { accountPollInterval: "7m" }, true],
  ["the prefix of accounts to come", {}, { accountNamePrefix: "blue-" }, true],
  ["grants", {}, { grants: [] }, true],
  ["the address of the console", {}, { baseURL: "https://other.example.com" }, false],
  ["the proxy", {}, { proxyURL: "https://proxy.example.com" }, false],
  ["a timeout", {}, { limits: { timeout: "3s" } }, false],
])("a call stays stopped after a change of %s: %4$s", (_, metadata, connection, stays) => {
  const changed = { ...object, metadata: { ...object.metadata, ...metadata } };
  expect(isStopped(recorded(object), changed, clientIdentity(connectionSpec(connection)))).toBe(
    stays,
  );
});

test.each<[string, object, string]>([
  ["after it", {}, "UnreadableResponse"],
  ["if a rotation is requested", { self: "two" }, "Precheck"],
  ["if the spec has changed", { generation: 2 }, "Precheck"],
])("no key is issued after a response that cannot be read: %s", (_, change, expected) => {
  const { self, generation = 1 } = change as { self?: string; generation?: number };
  const on = keys.object();
  const unreadable = recorded(on);
  const snapshot = keys.snapshot({
    object: { ...on, metadata: { ...on.metadata, generation } },
    status: { unreadableResponse: unreadable },
  });
  const given = { ...snapshot, self: { ...snapshot.self, rotateToken: self } };
  const step = keys.firstOf(given);
  expect(step.reason ?? step.kind).toBe(expected);
  if (step.reason !== undefined) {
    expect(step).toMatchObject({ state: "Stalled", condition: "IssuanceAllowed" });
    expect(step.message).toContain("status 201");
    expect(step.message).toContain("requestId r-7");
  }
});

test("a response stays on record until the next attempt", () => {
  const status = { ...keys.snapshot().status, unreadableResponse: recorded(object, "a-1") };
  const attempt = (id: string) => ({
    id,
    revision: 1,
    reason: "NoKeyYet",
    startTime: keys.NOW,
    expiresInDays: 90,
    knownKeyIds: [],
    settled: undefined,
    ...keys.ofBot,
  });
  expect(withoutAttempt({ ...status, attempt: attempt("a-1") }, false)).toMatchObject({
    unreadableResponse: { attemptId: "a-1" },
  });
  const other = { ...status, attempt: attempt("a-2") };
  expect(withoutAttempt(other, false).unreadableResponse).toBeUndefined();
  expect(withAttempt(status, attempt("a-2"), undefined).unreadableResponse).toBe(undefined);
});

test.each<[string, object, string]>([
  ["after it", {}, "UnreadableResponse"],
  ["if the spec has changed", { generation: 2 }, "RecordAttempt"],
])("no account is created after a response that cannot be read: %s", (_, metadata, expected) => {
  const on = accounts.serviceAccount();
  const attempt = {
    id: "u1-a",
    startTime: accounts.NOW - 60_000,
    name: undefined,
    described: undefined,
  };
  const unreadable = unreadableResponse(
    failed("MalformedResponse"),
    attempt.id,
    on,
    clientIdentity(accounts.access.spec),
  );
  const { step } = accounts.play({
    object: { ...on, metadata: { ...on.metadata, ...metadata } },
    attempt,
    unreadableResponse: unreadable,
    listing: { ok: true, accounts: [] },
  });
  expect(step.reason ?? step.kind).toBe(expected);
});
