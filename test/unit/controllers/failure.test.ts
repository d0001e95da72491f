import { expect, test } from "vitest";
import { SpecError } from "../../../src/controllers/frame/errors.ts";
import { failureReadiness } from "../../../src/controllers/frame/rules/failure.ts";
import { IamError } from "../../../src/iam/errors.ts";
import { KubeError } from "../../../src/kube/errors.ts";

test.each([
  {
    name: "a refusal by the console is for a person, with its request id",
    error: new IamError(
      "PermissionDenied",
      "createServiceAccount was answered with status 403: Policy denied (request r-1)",
      { operation: "createServiceAccount", status: 403, requestId: "r-1" },
    ),
    readiness: {
      state: "Stalled",
      reason: "PermissionDenied",
      message:
        "A call to the console failed: createServiceAccount was answered with status 403: Policy denied (request r-1). Ask the console's administrator to allow this to the connection's user.",
    },
  },
  {
    name: "a console that is down comes back",
    error: new IamError("Unavailable", "connection refused.", { operation: "login" }),
    readiness: {
      state: "Reconciling",
      reason: "Unavailable",
      message: "A call to the console failed: connection refused.",
    },
  },
  {
    name: "a conflict of writes is not shown",
    error: new KubeError("Conflict", "the object has been modified"),
    readiness: undefined,
  },
  {
    name: "missing rights in the cluster are shown while they are tried again",
    error: new KubeError("Forbidden", "secrets is forbidden", { status: 403 }),
    readiness: {
      state: "Reconciling",
      reason: "Forbidden",
      message: "The Kubernetes API answered Forbidden: secrets is forbidden.",
    },
  },
  {
    name: "a wrong spec has a reason of its own",
    error: new SpecError("NotGranted", "No grant."),
    readiness: { state: "Stalled", reason: "NotGranted", message: "No grant." },
  },
  {
    name: "an API server that asks for a pause is not sent another write",
    error: new KubeError("RateLimited", "get secrets: too many requests", { retryAt: 1_000 }),
    readiness: undefined,
  },
  {
    name: "a bug shows nothing of its insides",
    error: new TypeError("password is undefined"),
    readiness: {
      state: "Reconciling",
      reason: "InternalError",
      message: "The operator ran into an unexpected error; its log has the details.",
    },
  },
])("$name", ({ error, readiness }) => {
  expect(failureReadiness(error)).toEqual(readiness);
});
