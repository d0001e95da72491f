import { z } from "zod";
import { ACTIONS } from "../actions.ts";
import { invalid, notFound } from "../api-error.ts";
import { type Endpoint, envelope, parseBody } from "../call.ts";
import { parseResourceName } from "../policy-evaluation.ts";
import { requireOnAccount } from "./get-service-account.ts";

const Body = z.object({ targetId: z.string(), action: z.string(), resource: z.string() });

/** Call 10: what the decision would be. Request and answer are not documented. */
export const evaluatePolicy: Endpoint = (call) => {
  const { world, shapes } = call;
  const { targetId, action, resource: text } = parseBody(Body, call.body);
  const resource = parseResourceName(text);
  if (resource === undefined) throw invalid(["body", "resource"], "is not a resource name");
  const account = world.accountOfTpn(targetId);
  if (account === undefined) throw notFound("target");
  requireOnAccount(call, ACTIONS.evaluatePolicy, account);
  const { allowed, reason, sids } = world.decide(world.boundTo(targetId), action, resource);
  if (shapes.decision === "allowed") return envelope({ allowed });
  return envelope({ decision: allowed ? "Allow" : "Deny", reason, matchedStatements: sids });
};
