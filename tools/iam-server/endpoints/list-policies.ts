import { ACTIONS } from "../actions.ts";
import { iamResource, requirePermission } from "../authorization.ts";
import { type Endpoint, list } from "../call.ts";
import { homeOrganization } from "../organization.ts";
import { paginate, unpaged } from "../pagination.ts";
import type { Shapes } from "../shapes.ts";
import type { Policy } from "../world.ts";

/** Call 7: policies of an organization, filtered by status and by part of the name. */
export const listPolicies: Endpoint = (call) => {
  const { world, shapes, query } = call;
  const orgId = query.text("orgId") ?? homeOrganization(call.principal);
  requirePermission(call, ACTIONS.listPolicies, iamResource(world, orgId, "-", "policy/*"));
  const status = query.text("status");
  const search = query.text("search")?.toLowerCase() ?? "";
  const found = [...world.policies.values()]
    .filter((policy) => policy.orgId === orgId)
    .filter((policy) => status === undefined || policy.status === status)
    .filter(({ policyId, name }) => `${policyId}\n${name}`.toLowerCase().includes(search))
    .map((policy) => policyRecord(policy, shapes));
  if (shapes.policyPaging === "ignored") return list(unpaged(found));
  return list(
    paginate(found, {
      page: query.integer("page", { min: 0, default: 1 }),
      pageSize: query.integer("pageSize", { min: 1, max: 1000, default: 20 }),
    }),
  );
};

/** The ID as answers have it. */
export function spelledBy({ policyIdCase }: Readonly<Shapes>, policyId: string): string {
  return policyIdCase === "upper" ? policyId.toUpperCase() : policyId;
}

/** A policy in the chosen shape: none of its fields but the statements are documented. */
export function policyRecord(policy: Policy, shapes: Readonly<Shapes>): object {
  const { name, orgId, kind, status, statements } = policy;
  const policyId = spelledBy(shapes, policy.policyId);
  return {
    ...(shapes.policyId === "id" ? { id: policyId } : { policyId }),
    name,
    orgId,
    ...(shapes.policyKind === "kind" ? { kind } : { type: kind }),
    status,
    document: { Statement: statements },
  };
}
