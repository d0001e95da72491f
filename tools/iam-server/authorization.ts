import { invalid, policyDenied } from "./api-error.ts";
import type { Principal } from "./authentication.ts";
import type { Call } from "./call.ts";
import type { Family } from "./operations.ts";
import { ANY_PARTITION, type ResourceName } from "./policy-evaluation.ts";
import type { World } from "./world.ts";

/** 403 unless the caller's policies allow the action on the resource. */
export function requirePermission(
  call: Pick<Call, "world" | "principal">,
  action: string,
  resource: ResourceName,
): void {
  const policyIds = policiesOf(call.world, call.principal);
  if (!call.world.decide(policyIds, action, resource).allowed) throw policyDenied();
}

/** Something the IAM service itself keeps; partitions play no part in it. */
export function iamResource(
  world: World,
  orgId: string,
  projectId: string,
  name: string,
): ResourceName {
  const region = world.settings.region;
  return { partition: ANY_PARTITION, service: "iam", orgId, region, projectId, name };
}

/** 422 unless the headers which this family of calls needs are there. */
export function requireHeaders(call: Pick<Call, "headers" | "shapes">, family: Family): void {
  if (family === "iam" && call.shapes.domainHeaders === "computeAndContainer") return;
  for (const name of ["X-Domain-Id", "X-Domain-Name"]) requiredHeader(call, name);
}

export function requiredHeader(call: Pick<Call, "headers">, name: string): string {
  const value = header(call, name);
  if (value === undefined) throw invalid(["header", name], "field required");
  return value;
}

/** `undefined` for a header which is absent or empty. */
export function header(call: Pick<Call, "headers">, name: string): string | undefined {
  const value = call.headers[name.toLowerCase()];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function policiesOf(world: World, principal: Principal): readonly string[] {
  switch (principal.kind) {
    case "anonymous":
      return [];
    case "user":
      return principal.user.policyIds;
    case "account":
      return world.boundTo(principal.account.tpn);
  }
}
