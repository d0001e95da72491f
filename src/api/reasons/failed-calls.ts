/** Codes of failed calls to the console and to the API server. */
import { ownEntry } from "../../util/own-entry.ts";
import type { Reason } from "./reason.ts";

export const ofConsoleCalls = {
  Unauthenticated: {
    meaning:
      "The console rejected the credentials of a session that it had accepted. The operator tried one new login.",
    check: "the condition `Authenticated` of the connection.",
    fix: "Correct the credentials in the Secret.",
  },
  PermissionDenied: {
    meaning:
      "The console answered with status 403: the connection's user, or the key, does not have permission for this call.",
    fix: "Follow the checks in the message; ask the console's administrator. Then run `kubectl iam reconcile`: without a request, the next retry follows after 5 minutes (policies), after `spec.interval`, doubling up to 5 minutes if it is shorter (quotas), or within half an hour.",
  },
  NotFound: {
    meaning:
      "The console answered with status 404. For a call that revokes a key: the console still lists that key, so the path of the call is probably wrong; or the key is not in the account's list, and the call was not made.",
    check: "the IDs in the spec; `baseURL` of the connection, and the paths in its `extraCalls`.",
    fix: "Correct the ID in the spec, or `baseURL` or `extraCalls` of the connection.",
  },
  AlreadyExists: {
    meaning: "The console answered with status 409.",
    fix: "Wait: the call is retried.",
  },
  UnreadableResponse: {
    meaning:
      "The console, or a gateway, answered the call that issues a key or creates an account, but the response cannot be read: it is not JSON, is compressed in an unknown way or too large, or lacks the pair or the account's ID. The operator does not repeat the call: each call could leave a key without a Secret.",
    check:
      "the message: status, media type and encoding of the response, and what is wrong with it; `status.orphaned` of the ApiKey; the gateways before the console.",
    fix: "Correct the gateway or the console. Then request the call: `kubectl iam reconcile`, for an ApiKey also `kubectl iam rotate`. A changed spec also repeats it. A key in use keeps working, but is not renewed. Delete the orphaned key in the console.",
    commands: [
      'kubectl annotate iamkey NAME -n NAMESPACE iam-operator.io/reconcile-requested-at="$(date)" --overwrite',
    ],
  },
  InvalidArgument: {
    meaning: "The console answered with status 422: it does not accept a value.",
    fix: "Correct the spec.",
  },
  FailedPrecondition: {
    meaning: "The console rejected the call with another status between 400 and 499.",
    fix: "Fix the cause in the message. The call is retried every 1 to 15 minutes.",
  },
  RateLimited: {
    meaning: "The console, or the API server, asked for fewer calls.",
    fix: "Wait, and lower `limits` of the connection if this persists. No call is made earlier than requested.",
  },
  Unavailable: {
    meaning: "The console or the API server did not answer, or answered with status 500 or above.",
    fix: "Wait: the call is retried after half a second, doubling to five minutes. If this persists, check the console or API server, and the gateways before it.",
  },
  Timeout: {
    meaning:
      "The answer did not arrive in time. The operator finds out whether a change took effect before it repeats the call.",
    check: "`limits.timeout` of the connection; latency between cluster and console.",
    fix: "Wait. If this persists for reads, raise `limits.timeout` of the connection; a call that changes something, such as issueKey, has 5 seconds at most, so the console must answer it faster.",
  },
  MalformedResponse: {
    meaning:
      "The answer cannot be used: it is not JSON, reports an error with a status of success, is cut off, too large or nested too deeply, or lacks a required field. Usual causes are a proxy's error page and a redirect.",
    check:
      "the message: it names the call and what is wrong with the answer; `curl -v` to the address of the connection from inside the cluster.",
    fix: "Correct the gateway or proxy before the console, or `baseURL` of the connection.",
  },
  ChangeNotApplied: {
    meaning:
      "The console, or a gateway before it, answered a call that changes something with success, and reads up to four seconds later show no change. The operator believes the reads and repeats the call.",
    check:
      "the logs of the gateways before the console, for a block page or a maintenance page with status 200.",
    fix: "Let the gateway pass the call to the console, or answer with an error status. Until then, make the change in the console.",
  },
} as const satisfies Record<string, Reason>;

export const ofApiServerCalls = {
  Forbidden: {
    meaning:
      "The operator lacks a permission, a quota is used up, an admission rule rejected the write, or the namespace is terminating.",
    check: "the message; it quotes the API server.",
    fix: "Grant the operator the permission ([least privilege](least-privilege.md)), or raise the quota. `secrets.credentials` and `rbac.configMaps` of the chart grant what a ClusterConnection names, `consumers.mode` the counting of Pods. The call is retried after half a second, doubling to five minutes.",
  },
  Invalid: {
    meaning:
      "The API server does not accept the object, because of an admission rule or because a Secret is larger than 1 MiB.",
    fix: "If the message names a policy or webhook of the cluster, exempt the operator's objects from it, or declare in the spec what it requires. Otherwise correct the spec, usually `spec.secret`. After a change elsewhere, run `kubectl iam reconcile`: without a request, the next retry follows within half an hour.",
  },
  BadRequest: {
    meaning:
      "The API server does not understand the request. The CRDs may be older than the operator.",
    fix: "Apply the CRDs of this version ([upgrade](upgrade.md)).",
  },
  Conflict: {
    meaning:
      "The object was changed at the same time. The operator retries at once; this does not last.",
  },
  Gone: {
    meaning: "A list or watch must start again, which happens automatically.",
  },
  NotLeading: {
    meaning:
      "This process might lose its lease before a change finishes. Another process takes over.",
    check:
      "`kubectl get lease -n iam-operator-system`, the API server's latency, and whether the Pod gets enough CPU.",
  },
} as const satisfies Record<string, Reason>;

const failedCalls: Readonly<Record<string, Reason>> = { ...ofConsoleCalls, ...ofApiServerCalls };

/** Whether an object with this reason reports that a call failed. */
export function isFailedCall(reason: string): boolean {
  return ownEntry(failedCalls, reason) !== undefined;
}
