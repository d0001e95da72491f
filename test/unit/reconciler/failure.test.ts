/** What becomes of a failure: what is shown, when it is tried again, and what if it cannot be reported. */
import { describe, expect, test } from "vitest";
import type { IamObject } from "../../../src/api/meta.ts";
import { IamError, type IamErrorCode, type TokenVerdict } from "../../../src/console/errors.ts";
import { KubeError } from "../../../src/kube/errors.ts";
import { SpecError, StatusWriteFailed, UrgentFailure } from "../../../src/reconciler/errors.ts";
import { writeStatus } from "../../../src/reconciler/publish.ts";
import { tryReport } from "../../../src/reconciler/report-run.ts";
import { blocksCleanup } from "../../../src/reconciler/rules/cleanup.ts";
import { errorPolicy } from "../../../src/reconciler/rules/error-policy.ts";
import { failureReadiness, timedOutReadiness } from "../../../src/reconciler/rules/failure.ts";
import { apiKeyType } from "../../../src/resources/resource-types.ts";
import { silentLog } from "../../../src/util/log.ts";
import { RunTimedOut } from "../../../src/util/run-timed-out.ts";

const down = (retryAt?: number) =>
  new IamError("Unavailable", "502", {
    operation: "listBindings",
    ...(retryAt === undefined ? {} : { retryAt }),
  });
const wrong = new SpecError("NotGranted", "No grant.");
const busy = new KubeError("RateLimited", "too many requests", { retryAt: 3_000 });
const conflict = new KubeError("Conflict", "changed");
const lost = new KubeError("Timeout", "no answer");
const invalid = new KubeError("Invalid", "no such field");

const refused = (login: TokenVerdict) =>
  new IamError("Unauthenticated", "401", { operation: "issueKey", login });
const iam = (code: IamErrorCode) => new IamError(code, "no", { operation: "listBindings" });

test.each<[string, Error, string?]>([
  [
    "a refusal by the console is for a person, with its request id",
    new IamError("PermissionDenied", "403: Policy denied (request r-1)", {
      operation: "createServiceAccount",
      requestId: "r-1",
    }),
    "Stalled PermissionDenied: A call to the console failed: 403: Policy denied (request r-1). Ask the console's administrator to allow the refused call to the connection's user.",
  ],
  [
    "a refusal of a login that is valid is for the console's administrator",
    refused("Accepted"),
    "Reconciling Unauthenticated: A call to the console failed: 401. The console accepts the login. Ask the console's administrator why issueKey is rejected.",
  ],
  [
    "a refusal of a login that may be valid says nothing about credentials",
    refused("Unknown"),
    "Reconciling Unauthenticated: A call to the console failed: 401. The call is tried again.",
  ],
  [
    "a console that is down comes back",
    down(),
    "Reconciling Unavailable: A call to the console failed: 502.",
  ],
  ["a conflict of writes is not shown", conflict],
  [
    "missing rights in the cluster are shown while they are tried again",
    new KubeError("Forbidden", "secrets is forbidden", { status: 403 }),
    "Reconciling Forbidden: The Kubernetes API answered Forbidden: secrets is forbidden.",
  ],
  ["a wrong spec has a reason of its own", wrong, "Stalled NotGranted: No grant."],
  ["an API server that asks for a pause is not sent another write", busy],
  [
    "a bug shows nothing of its insides",
    new TypeError("password is undefined"),
    "Reconciling InternalError: The operator ran into an unexpected error; its log has the details.",
  ],
  [
    "a run that took too long is reported",
    new RunTimedOut("the reconcile timed out"),
    "Reconciling ReconcileTimedOut: A reconcile of this object took more than two minutes, so the operator stopped it. It tries again.",
  ],
])("%s", (_, error, expected) => {
  const shown = failureReadiness(error);
  expect(shown && `${shown.state} ${shown.reason}: ${shown.message}`).toBe(expected);
});

test.each<[string, Error, object]>([
  [
    "a report that is refused for a while holds the next try back for as long",
    new StatusWriteFailed(down(), busy),
    { kind: "Retry", notBefore: 3_000 },
  ],
  [
    "the longer pause counts",
    new StatusWriteFailed(down(9_000), busy),
    { kind: "Retry", notBefore: 9_000 },
  ],
  ["an unreported wrong spec is retried", new StatusWriteFailed(wrong, lost), { kind: "Retry" }],
  [
    "an unreported wrong spec is retried after a pause",
    new StatusWriteFailed(wrong, busy),
    { kind: "Retry", notBefore: 3_000 },
  ],
  ["a changed object is read again", new StatusWriteFailed(wrong, conflict), { kind: "Conflict" }],
  [
    "a withdrawal is tried again sooner, also after a pause",
    new UrgentFailure(new StatusWriteFailed(down(), busy)),
    { kind: "Retry", notBefore: 3_000, isUrgent: true },
  ],
  ["an invalid report is not retried", new StatusWriteFailed(wrong, invalid), { kind: "Terminal" }],
  [
    "a spec that may be right soon is read again sooner",
    new SpecError("ServiceAccountGone", "404", 60_000),
    { kind: "Terminal", resyncMs: 60_000 },
  ],
  ["what the console may know soon", iam("NotFound"), { kind: "Terminal", resyncMs: 300_000 }],
  [
    "a refusal waits for a change, even if it names a time",
    new IamError("PermissionDenied", "no", { operation: "issueKey", retryAt: 7_000 }),
    { kind: "Terminal" },
  ],
  [
    "a login that is paused is not tried before",
    new IamError("LoginPaused", "paused", { operation: "login", retryAt: 7_000 }),
    { kind: "SlowRetry", notBefore: 7_000 },
  ],
  [
    "a slow retry stays slow",
    new StatusWriteFailed(iam("MfaRequired"), lost),
    { kind: "SlowRetry" },
  ],
])("%s", (_, error, outcome) => {
  expect(errorPolicy(error)).toEqual(outcome);
});

describe("a status whose write was not answered", () => {
  const object = {
    apiVersion: "v1",
    kind: "ApiKey",
    metadata: { name: "ci", namespace: "team-a", uid: "u1", resourceVersion: "1" },
    spec: {},
  };
  const write = (error: unknown) =>
    writeStatus(
      { kube: { apply: () => Promise.reject(error) } as never },
      apiKeyType as never,
      object as IamObject<unknown, object>,
      { ready: true },
    ).catch((failure: unknown) => failure);

  test.each(["Timeout", "Unavailable", "MalformedResponse"] as const)(
    "%s is tried again, and not told by another one",
    async (code) => {
      const failure = await write(new KubeError(code, "no answer", { retryAt: 7_000 }));
      expect(failureReadiness(failure)).toBeUndefined();
      expect(errorPolicy(failure)).toEqual({ kind: "Retry", notBefore: 7_000 });
      expect(failure).toMatchObject({ message: "no answer", cause: { code } });
    },
  );

  test("is not meant where the API server has refused it", async () => {
    const forbidden = new KubeError("Forbidden", "no right");
    expect(await write(forbidden)).toBe(forbidden);
  });
});

describe("a failure", () => {
  test("that was told is the pass's own", async () => {
    const failure = down();
    expect(await tryReport(failure, async () => undefined, silentLog)).toBe(failure);
  });

  test("that could not be told is still the one that is named", async () => {
    const failure = await tryReport(down(), () => Promise.reject(busy), silentLog);
    expect(failure).toMatchObject({ name: "StatusWriteFailed", message: "502", refusal: busy });
    expect((failure as Error).cause).toMatchObject({ code: "Unavailable" });
  });
});

test.each([
  ["the console", down(), true],
  ["a run that took too long", new RunTimedOut("the reconcile timed out"), true],
  ["the API server", lost, false],
])("the deadline of a deletion runs after a failure of %s: %s", (_, error, expected) => {
  expect(blocksCleanup(error)).toBe(expected);
});

test("after a run that took too long, only what a person must do hides that", () => {
  const readinessOf = (error: unknown) => timedOutReadiness(failureReadiness(error)!);
  expect(readinessOf(wrong)).toMatchObject({ state: "Stalled", reason: "NotGranted" });
  const { reason, message } = readinessOf(down());
  expect(reason).toBe("ReconcileTimedOut");
  expect(message).toMatch(/It tries again\. Its last error: A call to the console failed: 502\.$/);
});
