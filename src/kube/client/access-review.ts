import { SECOND } from "../../util/time.ts";
import { callApi, type KubeApi } from "./api-call.ts";
import { isRecord } from "./status.ts";

type Access = "Allowed" | "Forbidden" | "Unauthenticated";

const TIMEOUT_MS = 5 * SECOND;

/**
 * Whether the owner of a token has permission to `get` a non-resource path, for example /metrics. A TokenReview returns
 * the user, a SubjectAccessReview the permission. Rejects with KubeError if a review fails.
 */
export async function reviewAccess(api: KubeApi, token: string, path: string): Promise<Access> {
  const { authenticated, user } = await review(api, "authentication.k8s.io", "TokenReview", {
    token,
  });
  if (authenticated !== true || !isRecord(user)) return "Unauthenticated";
  const { username, uid, groups, extra } = user;
  const { allowed } = await review(api, "authorization.k8s.io", "SubjectAccessReview", {
    user: username,
    uid,
    groups,
    extra,
    nonResourceAttributes: { path, verb: "get" },
  });
  return allowed === true ? "Allowed" : "Forbidden";
}

export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete";

export interface ResourceRule {
  readonly verb: Verb;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  /** Absent: all objects. */
  readonly name?: string;
  /** Absent: in every namespace, or cluster-scoped. */
  readonly namespace?: string;
}

/**
 * Whether the caller has a permission, checked by a SelfSubjectAccessReview. Rejects with KubeError if the
 * review fails.
 */
export async function canI(api: KubeApi, rule: ResourceRule): Promise<boolean> {
  const { allowed } = await review(api, "authorization.k8s.io", "SelfSubjectAccessReview", {
    resourceAttributes: rule,
  });
  return allowed === true;
}

/** Resolves to the status of a review. The API server does not store reviews. */
async function review(
  api: KubeApi,
  group: string,
  kind: string,
  spec: object,
): Promise<Readonly<Record<string, unknown>>> {
  const { status } = await callApi(api, {
    attempted: `create ${kind}`,
    method: "POST",
    path: `/apis/${group}/v1/${kind.toLowerCase()}s`,
    body: { apiVersion: `${group}/v1`, kind, spec },
    timeoutMs: TIMEOUT_MS,
  });
  return isRecord(status) ? status : {};
}
