import { expect, test } from "vitest";
import { SpecError } from "../../../src/controllers/frame/errors.ts";
import { failureReadiness } from "../../../src/controllers/frame/rules/failure.ts";
import { IamError } from "../../../src/iam/errors.ts";
import { KubeError } from "../../../src/kube/errors.ts";

const denied = new IamError("PermissionDenied", "status 403: Policy denied (request r-1)", {
  operation: "createServiceAccount",
});
const down = new IamError("Unavailable", "connection refused.", { operation: "login" });
const forbidden = new KubeError("Forbidden", "secrets is forbidden", { status: 403 });
const busy = new KubeError("RateLimited", "get secrets: too many requests", { retryAt: 1_000 });

test.each<[string, Error, string?]>([
  [
    "a refusal by the console is for a person, with its request id",
    denied,
    "Stalled PermissionDenied: A call to the console failed: status 403: Policy denied (request r-1). Ask the console's administrator to allow this to the connection's user.",
  ],
  [
    "a console that is down comes back",
    down,
    "Reconciling Unavailable: A call to the console failed: connection refused.",
  ],
  ["a conflict of writes is not shown", new KubeError("Conflict", "it has been modified")],
  [
    "missing rights in the cluster are shown while they are tried again",
    forbidden,
    "Reconciling Forbidden: The Kubernetes API answered Forbidden: secrets is forbidden.",
  ],
  [
    "a wrong spec has a reason of its own",
    new SpecError("NotGranted", "No grant."),
    "Stalled NotGranted: No grant.",
  ],
  ["an API server that asks for a pause is not sent another write", busy],
  [
    "a bug shows nothing of its insides",
    new TypeError("password is undefined"),
    "Reconciling InternalError: The operator ran into an unexpected error; its log has the details.",
  ],
])("%s", (_, error, expected) => {
  const shown = failureReadiness(error);
  expect(shown && `${shown.state} ${shown.reason}: ${shown.message}`).toBe(expected);
});
