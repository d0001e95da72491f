/** The table of console calls: one row a call, in the order of the spec ("Endpoints"). */
import { Redacted } from "../util/redacted.ts";
import { listAllAccounts, listAllQuotas } from "./client/all-pages.ts";
import {
  readAcknowledged,
  readJson,
  readOnce,
  readOpaque,
  undefinedIfNotFound,
} from "./client/answers.ts";
import { type Ids, type Mutating, mutating, reading } from "./client/endpoint.ts";
import type { Method } from "./exchange/call.ts";
import type {
  ActionQuery,
  BindingSet,
  IamAction,
  IamPolicy,
  IamServiceAccount,
  IamServiceAccountDetail,
  InstanceQuery,
  Json,
  KeyIds,
  LiveBindings,
  LoginCredentials,
  NewKey,
  NewKeyPair,
  NewServiceAccount,
  PolicyQuery,
  Quota,
  QuotaQuery,
} from "./model.ts";
import { refuseErrorReport } from "./wire/acknowledgement.ts";
import { readActions } from "./wire/catalogue.ts";
import { isJsonObject } from "./wire/json.ts";
import { readListing } from "./wire/listing.ts";
import { type LoginAnswer, readLogin } from "./wire/login.ts";
import { readBindings, readPolicies } from "./wire/policy.ts";
import {
  readKeyPair,
  readServiceAccount,
  readServiceAccountDetail,
  readServiceAccounts,
} from "./wire/service-account.ts";

const AUTHN = "/api/v1/iam/authn";
const AUTHZ = "/api/v1/iam/authz";
const ACCOUNTS = `${AUTHN}/service-accounts`;
/** The largest page that listResourceQuotas allows. */
const QUOTA_PAGE_SIZE = 100;

/** The 13 documented endpoints. */
export const endpoints = {
  login: reading<LoginCredentials, LoginAnswer>({
    method: "POST",
    path: `${AUTHN}/public/login`,
    isPublic: true,
    body: ({ username, password, domain }) => ({ username, password: password.reveal(), domain }),
    secrets: ({ password }) => [password],
    // Calls that need a token are held before they log in.
    ignoresHold: true,
    isUrgent: true,
    read: readOnce(readLogin),
  }),
  /** Not idempotent. */
  createServiceAccount: mutating<NewServiceAccount, IamServiceAccount>({
    method: "POST",
    path: ACCOUNTS,
    body: pick("orgId", "projectId", "name", "description"),
    read: readJson(readServiceAccount),
  }),
  /** All accounts; rejects with MalformedResponse if the listing is incomplete. The spec shows no parameters. */
  listServiceAccounts: reading<void, readonly IamServiceAccount[]>({
    method: "GET",
    path: ACCOUNTS,
    // Creating an account requires the whole list.
    isShared: true,
    maxPauseMs: 200,
    read: readJson(readServiceAccounts),
  }),
  /** By saId; `undefined` if the console does not know the account (404). */
  getServiceAccount: reading<string, IamServiceAccountDetail | undefined>({
    method: "GET",
    path: `${ACCOUNTS}/{saId}`,
    ids: (saId) => ({ saId }),
    // Issuing a key requires the account's key list.
    isShared: true,
    read: undefinedIfNotFound(readJson(readServiceAccountDetail)),
  }),
  /** Not idempotent. Only this answer contains the secret. */
  issueKey: mutating<NewKey, NewKeyPair>({
    method: "POST",
    path: `${ACCOUNTS}/{saId}/keys`,
    ids: pick("saId"),
    body: pick("description", "expiresInDays"),
    read: readOnce(readKeyPair),
  }),
  /** Opaque in and out: the spec shows neither body. Every text in the body is treated as secret. */
  validateKey: reading<Json, Json>({
    method: "POST",
    path: `${AUTHN}/public/api-keys/validate`,
    isPublic: true,
    body: (body) => body,
    secrets: textsIn,
    read: readOpaque,
  }),
  /** All matching policies; rejects with MalformedResponse if the listing is incomplete. */
  listPolicies: reading<PolicyQuery, readonly IamPolicy[]>({
    method: "GET",
    path: `${AUTHZ}/policies`,
    query: pick("orgId", "status", "search"),
    read: readJson(readPolicies),
  }),
  /** Full replacement. Idempotent. The answer does not prove the change: the spec does not show its form. */
  syncBindings: mutating<BindingSet, void>({
    method: "PUT",
    path: `${AUTHZ}/bindings/sync`,
    body: ({ tpn, orgId, policyIds }) => ({ targetType: "tpn", targetId: tpn, orgId, policyIds }),
    read: readAcknowledged,
  }),
  /** By TPN. If the form of the answer is unknown, it is not readable; rejects with MalformedResponse if incomplete. */
  listBindings: reading<string, LiveBindings>({
    method: "GET",
    path: `${AUTHZ}/bindings/by-target`,
    query: (tpn) => ({ targetType: "tpn", targetId: tpn }),
    read: readJson((json, tpn) => {
      refuseErrorReport(json);
      return readBindings(json, tpn);
    }),
  }),
  /** Opaque in and out: the spec shows neither body. */
  evaluatePolicy: reading<Json, Json>({
    method: "POST",
    path: `${AUTHZ}/policies/evaluate`,
    body: (body) => body,
    read: readOpaque,
  }),
  /** One page. */
  listInstances: reading<InstanceQuery, readonly Json[]>({
    method: "GET",
    path: "/api/v1/compute/instances",
    query: pick("page", "pageSize"),
    key: ({ key }) => key,
    read: readJson((json) => readListing(json, ["instances"]).records),
  }),
  /** All pages or a rejection, in an order that does not depend on the time of creation. */
  listResourceQuotas: reading<QuotaQuery, readonly Quota[]>({
    method: "GET",
    path: "/api/v1/container/policy/resource-quota",
    query: ({ clusterId, namespaces, filterNames }, page) => ({
      clusterId,
      namespace: namespaces,
      filterName: filterNames,
      page,
      pageSize: QUOTA_PAGE_SIZE,
      sortBy: "name",
    }),
    key: ({ key }) => key,
    ignoresPartition: true,
    read: listAllQuotas,
  }),
  /** One page. */
  searchActions: reading<ActionQuery, readonly IamAction[]>({
    method: "GET",
    path: `${AUTHZ}/action-catalog/actions/search`,
    query: pick("q", "pageSize"),
    key: ({ key }) => key,
    read: readJson(readActions),
  }),
};

/** A call that is not in the spec, as the administrator configured it on the connection. */
interface ExtraCall {
  readonly method: Exclude<Method, "GET">;
  /** A template with `{saId}` and `{keyId}`. */
  readonly path: string;
}

export type ExtraCalls = Readonly<Partial<Record<ExtraOperation, ExtraCall | undefined>>>;

/** The calls that an administrator can configure on a connection (`extraCalls`), with the IDs for their paths. */
const extraIds = {
  disableKey: ({ saId, keyId }: KeyIds) => ({ saId, keyId }),
  deleteKey: ({ saId, keyId }: KeyIds) => ({ saId, keyId }),
  deleteServiceAccount: (saId: string) => ({ saId, keyId: "" }),
};

export type ExtraOperation = keyof typeof extraIds;
export const extraOperations = Object.keys(extraIds) as readonly ExtraOperation[];

type ExtraEndpoints = {
  readonly [N in ExtraOperation]: Mutating<Parameters<(typeof extraIds)[N]>[0], void>;
};

/** The rows of the configured calls. */
export function extraEndpoints(configured: ExtraCalls): Partial<ExtraEndpoints> {
  const rows = extraOperations.flatMap((operation) => {
    const call = configured[operation];
    const ids: (input: never) => Ids = extraIds[operation];
    return call === undefined
      ? []
      : [[operation, mutating({ ...call, ids, read: readAcknowledged })]];
  });
  return Object.fromEntries(rows) as Partial<ExtraEndpoints>;
}

/** The query parameters of a list in pages, as the administrator named them on the connection. */
export interface ListPages {
  readonly pageParameter: string;
  readonly pageSizeParameter?: string | undefined;
  readonly pageSize?: number | undefined;
  readonly firstPage: number;
}

/** listServiceAccounts of a console that lists accounts in pages. */
export function pagedAccounts({
  pageParameter,
  pageSizeParameter,
  pageSize,
  firstPage,
}: ListPages): Pick<typeof endpoints, "listServiceAccounts"> {
  const query = (_: unknown, page: number) => ({
    [pageParameter]: firstPage + page - 1,
    ...(pageSizeParameter === undefined ? {} : { [pageSizeParameter]: pageSize }),
  });
  return {
    listServiceAccounts: { ...endpoints.listServiceAccounts, query, read: listAllAccounts },
  };
}

/** All calls, by name. */
export type Endpoints = typeof endpoints & ExtraEndpoints;
/** The name of a call; also the metric label `operation`. */
export type Operation = keyof Endpoints;

/** The session alone makes the login. */
export type DocumentedCall = Exclude<keyof typeof endpoints, "login">;
export const documentedCalls = Object.keys(endpoints).filter(
  (name) => name !== "login",
) as readonly DocumentedCall[];

/** The fields of an input that are sent under their own names. */
function pick<K extends string>(
  ...names: readonly K[]
): <T extends { readonly [N in K]?: unknown }>(input: T) => Pick<T, K & keyof T> {
  return (input) => {
    const fields = names.map((name) => [name, input[name]]);
    return Object.fromEntries(fields);
  };
}

/** Shorter texts are not secrets; redacting them would hide ordinary words. */
const SHORTEST_SECRET = 8;

function textsIn(json: Json): readonly Redacted[] {
  if (typeof json === "string") return json.length < SHORTEST_SECRET ? [] : [new Redacted(json)];
  if (Array.isArray(json)) return json.flatMap(textsIn);
  return isJsonObject(json) ? Object.values(json).flatMap(textsIn) : [];
}
