import { z } from "zod";
import { ACTIONS } from "../actions.ts";
import { type ApiError, invalid, notFound } from "../api-error.ts";
import {
  type Answer,
  type Call,
  type Endpoint,
  envelope,
  nothing,
  parseBody,
  record,
} from "../call.ts";
import { requireOnAccount } from "./get-service-account.ts";
import { spelledBy } from "./list-policies.ts";

const Body = z.object({
  targetType: z.literal("tpn"),
  targetId: z.string().min(1),
  orgId: z.string().min(1),
  policyIds: z.array(z.string().min(1)),
});

/** Call 8: the submitted list becomes the whole set of bindings, or nothing changes. */
export const syncBindings: Endpoint = (call) => {
  const { world, shapes } = call;
  const wanted = parseBody(Body, call.body);
  const account = world.accountOfTpn(wanted.targetId);
  if (account === undefined) throw notFound("target");
  requireOnAccount(call, ACTIONS.syncBindings, account);
  if (wanted.orgId !== account.orgId) {
    throw invalid(["body", "orgId"], "is not the organization of the target");
  }
  const bound = wanted.policyIds.map((policyId) => storedSpelling(call, policyId));
  for (const [index, policyId] of bound.entries()) {
    const refusal = whyNotBindable(call, policyId, index, account.orgId);
    if (refusal !== undefined) throw refusal;
  }
  world.replaceBindings(account.tpn, bound);
  const policyIds = world.boundTo(account.tpn).map((policyId) => spelledBy(shapes, policyId));
  return answer(shapes.syncAnswer, { ...wanted, policyIds });
};

function storedSpelling({ world, shapes }: Call, policyId: string): string {
  if (shapes.policyIdCase === "exact") return policyId;
  const wanted = policyId.trim().toLowerCase();
  return [...world.policies.keys()].find((id) => id.toLowerCase() === wanted) ?? policyId;
}

function whyNotBindable(
  { world, shapes }: Call,
  policyId: string,
  index: number,
  orgId: string,
): ApiError | undefined {
  const policy = world.policies.get(policyId);
  const where = ["body", "policyIds", index];
  if (policy === undefined || policy.orgId !== orgId) {
    return shapes.unknownPolicy === "notFound"
      ? notFound(`policy ${policyId}`)
      : invalid(where, `policy ${policyId} does not exist`);
  }
  if (policy.kind === "scp") {
    return invalid(where, `policy ${policyId} is of kind scp and cannot be bound to a tpn`);
  }
  return undefined;
}

function answer(shape: Call["shapes"]["syncAnswer"], synced: z.infer<typeof Body>): Answer {
  switch (shape) {
    case "envelope":
      return envelope({ targetId: synced.targetId, boundCount: synced.policyIds.length });
    case "noContent":
      return nothing(204);
    case "echo":
      return record(200, synced);
  }
}
