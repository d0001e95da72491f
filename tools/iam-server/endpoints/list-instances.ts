import { ACTIONS } from "../actions.ts";
import { header, requiredHeader, requirePermission } from "../authorization.ts";
import { type Call, type Endpoint, list } from "../call.ts";
import { homeProject } from "../organization.ts";
import { paginate } from "../pagination.ts";
import type { Instance } from "../world.ts";

/** Call 11: the instances of the key's project, in the partition where one is named. */
export const listInstances: Endpoint = (call) => {
  const { world, shapes } = call;
  const orgId = requiredHeader(call, "X-Domain-Id");
  const partition = partitionOf(call);
  const page = {
    page: call.query.integer("page", { min: 0, default: 1 }),
    pageSize: call.query.integer("pageSize", { min: 1, max: 100, default: 10 }),
  };
  const projectId = homeProject(call.principal);
  requirePermission(call, ACTIONS.listInstances, {
    partition,
    service: "compute",
    orgId,
    region: world.settings.region,
    projectId,
    name: "instance/*",
  });
  const found = world.instances
    .filter((instance) => instance.orgId === orgId && instance.projectId === projectId)
    .filter((instance) => partition === undefined || instance.partitionId === partition);
  const { data, ...rest } = paginate(found, page);
  return list({ ...rest, data: data.map((instance) => instanceRecord(instance, shapes)) });
};

function partitionOf(call: Call): string | undefined {
  return call.shapes.partitionHeader === "required"
    ? requiredHeader(call, "X-Partition-Id")
    : header(call, "X-Partition-Id");
}

function instanceRecord({ instanceId, ...rest }: Instance, shapes: Call["shapes"]): object {
  return shapes.instanceId === "id" ? { id: instanceId, ...rest } : { instanceId, ...rest };
}
