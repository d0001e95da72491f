import { ACTIONS } from "../actions.ts";
import { invalid } from "../api-error.ts";
import { iamResource, requirePermission } from "../authorization.ts";
import { type Endpoint, list } from "../call.ts";
import { homeOrganization, homeProject } from "../organization.ts";
import { paginate } from "../pagination.ts";
import type { CatalogAction } from "../world.ts";

const SORT_FIELDS = [
  "actionId",
  "app",
  "category",
  "actionClass",
  "alias",
  "apiMethod",
  "apiPath",
  "resourceType",
  "createdAt",
  "updatedAt",
] as const;
type SortField = (typeof SORT_FIELDS)[number];

/** Call 13: the catalogue of actions. */
export const searchActions: Endpoint = (call) => {
  const { world, query, principal } = call;
  const term = query.required("q").toLowerCase();
  const app = query.text("app");
  const method = query.text("method");
  const actionClass = query.text("actionClass")?.toLowerCase();
  const page = {
    page: query.integer("page", { min: 0, default: 1 }),
    pageSize: query.integer("pageSize", { min: 1, max: 1000, default: 20 }),
  };
  const sort = sortField(query.text("sort"));
  const sign = query.oneOf("order", ["asc", "desc"]) === "desc" ? -1 : 1;
  requirePermission(
    call,
    ACTIONS.searchActions,
    iamResource(world, homeOrganization(principal), homeProject(principal), "action/*"),
  );
  const found = world.catalogue
    .filter((action) => mentions(action, term))
    .filter((action) => app === undefined || action.app === app)
    .filter((action) => method === undefined || action.apiMethod === method)
    .filter(
      (action) => actionClass === undefined || action.actionClass.toLowerCase() === actionClass,
    )
    .sort((a, b) => sign * compare(a[sort], b[sort]) || compare(a.actionId, b.actionId));
  return list(paginate(found, page));
};

function sortField(name: string | undefined): SortField {
  if (name === undefined) return "actionId";
  const field = SORT_FIELDS.find((known) => known === name);
  if (field === undefined) throw invalid(["query", "sort"], "is not a field to sort by");
  return field;
}

function mentions(action: CatalogAction, term: string): boolean {
  return [action.actionId, action.resourceType, action.operationId, action.apiPath, action.notes]
    .filter((text) => text !== null)
    .some((text) => text.toLowerCase().includes(term));
}

function compare(a: string | null, b: string | null): number {
  const [left, right] = [a ?? "", b ?? ""];
  return left < right ? -1 : left > right ? 1 : 0;
}
