import { ACTIONS } from "../actions.ts";
import { notFound } from "../api-error.ts";
import { requiredHeader, requirePermission } from "../authorization.ts";
import { type Endpoint, list } from "../call.ts";
import { homeProject } from "../organization.ts";
import { paginate } from "../pagination.ts";
import { ANY_PARTITION } from "../policy-evaluation.ts";
import type { Quota } from "../world.ts";

const SORT_FIELDS = ["name", "namespace", "createdAt"] as const;

/** Call 12: ResourceQuotas of one container cluster. X-Partition-Id has no effect. */
export const listResourceQuotas: Endpoint = (call) => {
  const { world, query } = call;
  const orgId = requiredHeader(call, "X-Domain-Id");
  const clusterId = query.requiredInteger("clusterId", { min: 1 });
  const namespaces = new Set(query.all("namespace"));
  const filterNames = query.all("filterName");
  const page = {
    page: query.integer("page", { min: 0, default: 1 }),
    pageSize: query.integer("pageSize", { min: 1, max: 100, default: 10 }),
  };
  const sortBy = query.oneOf("sortBy", SORT_FIELDS) ?? "createdAt";
  const descending = (query.oneOf("sortOrder", ["asc", "desc"]) ?? "desc") === "desc";
  const cluster = world.clusters.get(clusterId);
  requirePermission(call, ACTIONS.listResourceQuotas, {
    partition: ANY_PARTITION,
    service: "container",
    orgId,
    region: world.settings.region,
    projectId: cluster?.projectId ?? homeProject(call.principal),
    name: `cluster/${clusterId}`,
  });
  if (cluster === undefined || cluster.orgId !== orgId) throw notFound("cluster");
  const found = cluster.quotas
    .filter(({ namespace }) => namespaces.size === 0 || namespaces.has(namespace))
    .filter(({ name }) => matchesAny(name, filterNames))
    .sort(byField(sortBy, descending));
  const { data, ...rest } = paginate(found, page);
  return list({ ...rest, data: data.map(({ clusterId: _, ...quota }) => quota) });
};

function matchesAny(name: string, parts: readonly string[]): boolean {
  return parts.length === 0 || parts.some((part) => name.includes(part));
}

/** Ties are broken by namespace and name, so that pages never overlap. */
function byField(field: (typeof SORT_FIELDS)[number], descending: boolean) {
  const sign = descending ? -1 : 1;
  return (a: Quota, b: Quota): number =>
    sign * compare(a[field], b[field]) ||
    compare(a.namespace, b.namespace) ||
    compare(a.name, b.name);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
