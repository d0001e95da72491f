/** The calls which the API description shows, and nothing else. */

/** Which credential a call takes. */
export type AuthKind = "none" | "bearer" | "key" | "either";

/** Who owns the resource: decides which headers are needed. */
export type Family = "iam" | "compute" | "container";

export interface OperationShape {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Path with `{name}` for parameters. */
  readonly path: string;
  readonly auth: AuthKind;
  readonly family: Family;
  /** Query parameters which the description names; absent where it says "not shown". */
  readonly query?: readonly string[];
}

export const OPERATIONS = {
  login: {
    method: "POST",
    path: "/api/v1/iam/authn/public/login",
    auth: "none",
    family: "iam",
    query: [],
  },
  createServiceAccount: {
    method: "POST",
    path: "/api/v1/iam/authn/service-accounts",
    auth: "bearer",
    family: "iam",
    query: [],
  },
  listServiceAccounts: {
    method: "GET",
    path: "/api/v1/iam/authn/service-accounts",
    auth: "bearer",
    family: "iam",
  },
  getServiceAccount: {
    method: "GET",
    path: "/api/v1/iam/authn/service-accounts/{saId}",
    auth: "bearer",
    family: "iam",
    query: [],
  },
  issueKey: {
    method: "POST",
    path: "/api/v1/iam/authn/service-accounts/{saId}/keys",
    auth: "bearer",
    family: "iam",
    query: [],
  },
  validateKey: {
    method: "POST",
    path: "/api/v1/iam/authn/public/api-keys/validate",
    auth: "none",
    family: "iam",
  },
  listPolicies: {
    method: "GET",
    path: "/api/v1/iam/authz/policies",
    auth: "bearer",
    family: "iam",
    query: ["orgId", "status", "search"],
  },
  syncBindings: {
    method: "PUT",
    path: "/api/v1/iam/authz/bindings/sync",
    auth: "bearer",
    family: "iam",
    query: [],
  },
  listBindings: {
    method: "GET",
    path: "/api/v1/iam/authz/bindings/by-target",
    auth: "bearer",
    family: "iam",
    query: ["targetType", "targetId"],
  },
  evaluatePolicy: {
    method: "POST",
    path: "/api/v1/iam/authz/policies/evaluate",
    auth: "bearer",
    family: "iam",
  },
  listInstances: {
    method: "GET",
    path: "/api/v1/compute/instances",
    auth: "key",
    family: "compute",
    query: ["page", "pageSize"],
  },
  listResourceQuotas: {
    method: "GET",
    path: "/api/v1/container/policy/resource-quota",
    auth: "either",
    family: "container",
    query: ["clusterId", "namespace", "filterName", "page", "pageSize", "sortBy", "sortOrder"],
  },
  searchActions: {
    method: "GET",
    path: "/api/v1/iam/authz/action-catalog/actions/search",
    auth: "either",
    family: "iam",
    query: ["q", "app", "method", "actionClass", "page", "pageSize", "sort", "order"],
  },
} as const satisfies Record<string, OperationShape>;

/** One of the thirteen calls. */
export type Operation = keyof typeof OPERATIONS;

/** Reads that a replica may answer, with what was so some time ago. */
export const LISTS: ReadonlySet<string | undefined> = new Set<Operation>([
  "listServiceAccounts",
  "getServiceAccount",
  "listPolicies",
  "listBindings",
]);

/** Calls which the description does not show, but which an administrator may know and name. */
export const EXTRA_OPERATIONS = ["disableKey", "deleteKey", "deleteServiceAccount"] as const;
export type ExtraOperation = (typeof EXTRA_OPERATIONS)[number];
export type AnyOperation = Operation | ExtraOperation;

/** Method and path (with `{saId}` and `{keyId}`) of each extra call that is switched on. */
export type ExtraCalls = Readonly<
  Partial<Record<ExtraOperation, { readonly method: string; readonly path: string }>>
>;

export const OPERATION_NAMES = Object.keys(OPERATIONS) as readonly Operation[];
export const ALL_OPERATION_NAMES: readonly AnyOperation[] = [
  ...OPERATION_NAMES,
  ...EXTRA_OPERATIONS,
];
