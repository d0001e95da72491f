import { z } from "zod";
import { ACTIONS } from "../actions.ts";
import { ApiError, notFound } from "../api-error.ts";
import { iamResource, requirePermission } from "../authorization.ts";
import { type Endpoint, parseBody, record } from "../call.ts";
import { accountRecord } from "./service-account-records.ts";

const Body = z.object({
  orgId: z.string().min(1),
  projectId: z.string().min(1),
  name: z.string().min(1),
  description: z.string(),
});

/** Call 2: a new account every time it is called, without keys and without permissions. */
export const createServiceAccount: Endpoint = (call) => {
  const { world, shapes } = call;
  const wanted = parseBody(Body, call.body);
  const { orgId, projectId, name } = wanted;
  const resource = iamResource(world, orgId, projectId, "sa/*");
  requirePermission(call, ACTIONS.createServiceAccount, resource);
  if (!world.organizations.get(orgId)?.projectIds.has(projectId)) throw notFound("project");
  if (shapes.duplicateNames === "conflict" && world.hasAccountNamed(orgId, projectId, name)) {
    throw new ApiError(409, "a service account of this name exists");
  }
  return record(201, accountRecord(shapes, world.createAccount(wanted), []));
};
