import { ACTIONS } from "../actions.ts";
import { invalid, notFound } from "../api-error.ts";
import { iamResource, requirePermission } from "../authorization.ts";
import { type Answer, type Call, type Endpoint, envelope, list, record } from "../call.ts";
import { homeOrganization } from "../organization.ts";
import { unpaged } from "../pagination.ts";
import { requireOnAccount } from "./get-service-account.ts";
import { policyRecord, spelledBy } from "./list-policies.ts";

/** Call 9: which policies are bound to a target. */
export const listBindings: Endpoint = (call) => {
  const { world, shapes, query } = call;
  if (query.required("targetType") !== "tpn") throw invalid(["query", "targetType"], "must be tpn");
  const targetId = query.required("targetId");
  const account = world.accountOfTpn(targetId);
  if (account !== undefined) {
    requireOnAccount(call, ACTIONS.listBindings, account);
    return answer(call, targetId, account.orgId);
  }
  const orgId = homeOrganization(call.principal);
  requirePermission(call, ACTIONS.listBindings, iamResource(world, orgId, "-", "sa/*"));
  if (shapes.unknownTarget === "notFound") throw notFound("target");
  return answer(call, targetId, orgId);
};

function answer({ world, shapes }: Call, targetId: string, orgId: string): Answer {
  const bound = world.boundTo(targetId);
  const policyIds = bound.map((policyId) => spelledBy(shapes, policyId));
  switch (shapes.bindings) {
    case "bindings":
      return list(
        unpaged(policyIds.map((policyId) => ({ policyId, targetType: "tpn", targetId, orgId }))),
      );
    case "policyIds":
      return envelope({ targetType: "tpn", targetId, policyIds });
    case "policies": {
      const policies = bound.flatMap((policyId) => world.policies.get(policyId) ?? []);
      return list(
        unpaged(policies.map((policy) => policyRecord(policy, { ...shapes, policyId: "id" }))),
      );
    }
    case "strings":
      return record(200, policyIds);
    case "unreadable":
      return envelope({ summary: `${policyIds.length} bound` });
  }
}
