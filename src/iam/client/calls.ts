/** The documented calls as data (spec, "Endpoints", in the order of its table) and the connection's extra calls. */
import { Redacted } from "../../util/redacted.ts";
import { IamError } from "../errors.ts";
import type {
  ActionQuery,
  BindingSet,
  extraOperations,
  Json,
  KeyPair,
  LoginCredentials,
  NewKey,
  NewServiceAccount,
  Operation,
  QuotaQuery,
} from "../model.ts";
import { isJsonObject } from "../wire/json.ts";
import type { Call, Method } from "./call.ts";

const AUTHN = "/api/v1/iam/authn";
const AUTHZ = "/api/v1/iam/authz";
const ACCOUNTS = `${AUTHN}/service-accounts`;

export function login({ username, password, domain }: LoginCredentials): Call {
  return {
    operation: "login",
    method: "POST",
    path: `${AUTHN}/public/login`,
    as: "nobody",
    body: { username, password: password.reveal(), domain },
    secrets: [password],
    // Calls that need a token are held before they log in.
    ignoresHold: true,
    isUrgent: true,
  };
}

export function createServiceAccount(account: NewServiceAccount): Call {
  const { orgId, projectId, name, description } = account;
  return {
    operation: "createServiceAccount",
    method: "POST",
    path: ACCOUNTS,
    as: "user",
    body: { orgId, projectId, name, description },
    isMutating: true,
  };
}

/** The spec shows no parameters. */
export function listServiceAccounts(): Call {
  return {
    operation: "listServiceAccounts",
    method: "GET",
    path: ACCOUNTS,
    as: "user",
    isList: true,
  };
}

export function getServiceAccount(saId: string): Call {
  const operation = "getServiceAccount";
  return {
    operation,
    method: "GET",
    path: `${ACCOUNTS}/${segment(operation, saId)}`,
    as: "user",
    isList: true,
  };
}

export function issueKey(saId: string, { description, expiresInDays }: NewKey): Call {
  const operation = "issueKey";
  return {
    operation,
    method: "POST",
    path: `${ACCOUNTS}/${segment(operation, saId)}/keys`,
    as: "user",
    body: { description, expiresInDays },
    isMutating: true,
  };
}

/** The spec does not show the body; every text in it is treated as secret. */
export function validateKey(body: Json): Call {
  return {
    operation: "validateKey",
    method: "POST",
    path: `${AUTHN}/public/api-keys/validate`,
    as: "nobody",
    body,
    secrets: textsIn(body),
  };
}

export function listPolicies(query: { orgId: string; status?: string; search?: string }): Call {
  const { orgId, status, search } = query;
  const found = search === undefined ? [] : [["search", search] as const];
  const withStatus = status === undefined ? [] : [["status", status] as const];
  return {
    operation: "listPolicies",
    method: "GET",
    path: withQuery(`${AUTHZ}/policies`, [["orgId", orgId], ...withStatus, ...found]),
    as: "user",
    isList: true,
  };
}

export function syncBindings({ tpn, orgId, policyIds }: BindingSet): Call {
  return {
    operation: "syncBindings",
    method: "PUT",
    path: `${AUTHZ}/bindings/sync`,
    as: "user",
    body: { targetType: "tpn", targetId: tpn, orgId, policyIds },
    isMutating: true,
  };
}

export function listBindings(tpn: string): Call {
  return {
    operation: "listBindings",
    method: "GET",
    path: withQuery(`${AUTHZ}/bindings/by-target`, [
      ["targetType", "tpn"],
      ["targetId", tpn],
    ]),
    as: "user",
    isList: true,
  };
}

/** The spec does not show the body. */
export function evaluatePolicy(body: Json): Call {
  return {
    operation: "evaluatePolicy",
    method: "POST",
    path: `${AUTHZ}/policies/evaluate`,
    as: "user",
    body,
  };
}

export function listInstances(page: { page: number; pageSize: number }, key: KeyPair): Call {
  return {
    operation: "listInstances",
    method: "GET",
    path: withQuery("/api/v1/compute/instances", [
      ["page", String(page.page)],
      ["pageSize", String(page.pageSize)],
    ]),
    as: key,
    isList: true,
  };
}

/** The largest page that listResourceQuotas allows. */
const QUOTA_PAGE_SIZE = 100;

/** One page of listResourceQuotas, in an order that does not depend on the time of creation. */
export function listResourceQuotas(query: QuotaQuery, page: number, key?: KeyPair): Call {
  return {
    operation: "listResourceQuotas",
    method: "GET",
    path: withQuery("/api/v1/container/policy/resource-quota", [
      ["clusterId", String(query.clusterId)],
      ...query.namespaces.map((namespace) => ["namespace", namespace] as const),
      ...query.filterNames.map((name) => ["filterName", name] as const),
      ["page", String(page)],
      ["pageSize", String(QUOTA_PAGE_SIZE)],
      ["sortBy", "name"],
    ]),
    as: key ?? "user",
    isList: true,
    ignoresPartition: true,
  };
}

export function searchActions({ q, pageSize }: ActionQuery, key?: KeyPair): Call {
  const size = pageSize === undefined ? [] : [["pageSize", String(pageSize)] as const];
  return {
    operation: "searchActions",
    method: "GET",
    path: withQuery(`${AUTHZ}/action-catalog/actions/search`, [["q", q], ...size]),
    as: key ?? "user",
    isList: true,
  };
}

/** A call that is not in the spec, as the administrator configured it on the connection. */
export interface ExtraCall {
  readonly method: Exclude<Method, "GET">;
  /** A template with `{saId}` and `{keyId}`. */
  readonly path: string;
}

export function extraCall(
  operation: (typeof extraOperations)[number],
  { method, path }: ExtraCall,
  ids: { readonly saId: string; readonly keyId?: string },
): Call {
  const filled = path
    .replaceAll("{saId}", () => segment(operation, ids.saId))
    .replaceAll("{keyId}", () => segment(operation, ids.keyId ?? ""));
  return { operation, method, path: filled, as: "user", isMutating: true };
}

/** One path segment. Dot segments and an empty segment would change the path, escaped or not. */
function segment(operation: Operation, id: string): string {
  if (id !== "" && id !== "." && id !== ".." && id.isWellFormed()) return encodeURIComponent(id);
  throw new IamError("InvalidArgument", `${operation} was not sent: the id cannot be in a path`, {
    operation,
    sent: false,
  });
}

function withQuery(path: string, parameters: readonly (readonly [string, string])[]): string {
  const query = parameters.map(
    ([name, value]) => `${name}=${encodeURIComponent(value.toWellFormed())}`,
  );
  return `${path}?${query.join("&")}`;
}

/** Shorter texts are not secrets; redacting them would hide ordinary words. */
const SHORTEST_SECRET = 8;

function textsIn(json: Json): readonly Redacted[] {
  if (typeof json === "string") return json.length < SHORTEST_SECRET ? [] : [new Redacted(json)];
  if (Array.isArray(json)) return json.flatMap(textsIn);
  return isJsonObject(json) ? Object.values(json).flatMap(textsIn) : [];
}
