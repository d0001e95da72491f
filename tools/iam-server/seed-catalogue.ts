import { ACTIONS } from "./actions.ts";
import type { CatalogAction } from "./world.ts";

type Row = readonly [
  alias: string,
  actionClass: CatalogAction["actionClass"],
  method: string | null,
  path: string | null,
];

/** Actions by `App.Category`. */
const ROWS: Readonly<Record<string, readonly Row[]>> = {
  "Compute.Instances": [
    ["ListInstances", "List", "GET", "/api/v1/compute/instances"],
    ["ReadInstance", "Read", null, null],
    ["CreateInstance", "Write", null, null],
    ["DeleteInstance", "Delete", null, null],
    ["ActionInstance", "Write", null, null],
  ],
  "Compute.Networks": [
    ["ListNetworks", "List", null, null],
    ["ReadNetwork", "Read", null, null],
    ["CreateNetwork", "Write", null, null],
    ["DeleteNetwork", "Delete", null, null],
  ],
  "Compute.Volumes": [
    ["ListVolumes", "List", null, null],
    ["AttachVolume", "Write", null, null],
  ],
  "SvcContainer.Cluster": [
    ["ListClusters", "List", null, null],
    ["CreateClusterProvisioning", "Write", null, null],
    ["DeleteCluster", "Delete", null, null],
    ["ReadKubeconfig", "Admin", null, null],
  ],
  "SvcContainer.Policy": [
    ["ListResourceQuotas", "List", "GET", "/api/v1/container/policy/resource-quota"],
  ],
  "Iam.ServiceAccounts": [
    ["CreateServiceAccount", "Admin", "POST", "/api/v1/iam/authn/service-accounts"],
    ["ListServiceAccounts", "List", "GET", "/api/v1/iam/authn/service-accounts"],
    ["ReadServiceAccount", "Read", "GET", "/api/v1/iam/authn/service-accounts/{saId}"],
    ["DeleteServiceAccount", "Admin", null, null],
  ],
  "Iam.ApiKeys": [
    ["IssueApiKey", "Admin", "POST", "/api/v1/iam/authn/service-accounts/{saId}/keys"],
    ["DisableApiKey", "Admin", null, null],
    ["DeleteApiKey", "Admin", null, null],
  ],
  "Iam.Policies": [
    ["ListPolicies", "List", "GET", "/api/v1/iam/authz/policies"],
    ["EvaluatePolicy", "Read", "POST", "/api/v1/iam/authz/policies/evaluate"],
  ],
  "Iam.Bindings": [
    ["SyncBindings", "Admin", "PUT", "/api/v1/iam/authz/bindings/sync"],
    ["ListBindings", "List", "GET", "/api/v1/iam/authz/bindings/by-target"],
  ],
  "Iam.ActionCatalog": [
    ["SearchActions", "List", "GET", "/api/v1/iam/authz/action-catalog/actions/search"],
  ],
};

/** About thirty actions: the documented identifiers, those which this server checks, some more. */
export function seedCatalogue(): CatalogAction[] {
  return Object.entries(ROWS).flatMap(([group, rows]) => rows.map((row) => toAction(group, row)));
}

function toAction(group: string, [alias, actionClass, method, path]: Row): CatalogAction {
  const [app = "", category = ""] = group.split(".");
  const parameter = /\{(\w+)\}/.exec(path ?? "")?.[1] ?? null;
  return {
    actionId: `svc:${app}.${category}.${alias}`,
    app: app.toLowerCase(),
    category,
    actionClass,
    alias,
    apiMethod: method,
    apiPath: path,
    operationId: method === null ? null : alias.charAt(0).toLowerCase() + alias.slice(1),
    resourceType: category.toLowerCase().replace(/s$/, ""),
    resourceIdParam: parameter,
    resourceIdSource: parameter === null ? null : "path",
    conditionParams: [],
    createdAt: "2026-01-01T00:00:00Z",
    createdBy: "system",
    updatedAt: null,
    updatedBy: "system",
    notes: method === null ? null : "has a documented call",
    catalogVersion: "2026.1",
  };
}

/** Whether every action which this server checks is in the catalogue. */
export function missingFromCatalogue(catalogue: readonly CatalogAction[]): readonly string[] {
  const known = new Set(catalogue.map(({ actionId }) => actionId));
  return Object.values(ACTIONS).filter((action) => !known.has(action));
}
