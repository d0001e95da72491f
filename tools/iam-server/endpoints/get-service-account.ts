import { ACTIONS } from "../actions.ts";
import { notFound } from "../api-error.ts";
import { iamResource, requirePermission } from "../authorization.ts";
import { type Call, type Endpoint, envelope, record } from "../call.ts";
import type { AccountRecord } from "../world.ts";
import { accountRecord, keyList } from "./service-account-records.ts";

/** Call 4: one account with its keys. */
export const getServiceAccount: Endpoint = (call) => {
  const account = accountInPath(call);
  requireOnAccount(call, ACTIONS.getServiceAccount, account);
  const found = accountRecord(call.shapes, account, keyList(call.world, call.shapes, account.saId));
  return call.shapes.serviceAccountDetail === "bare" ? record(200, found) : envelope(found);
};

/** The account which the path names, or 404. */
export function accountInPath({ world, params }: Call): AccountRecord {
  const account = world.accounts.get(params.saId ?? "");
  if (account === undefined) throw notFound("service account");
  return account;
}

export function requireOnAccount(call: Call, action: string, account: AccountRecord): void {
  const { orgId, projectId, saId } = account;
  requirePermission(call, action, iamResource(call.world, orgId, projectId, `sa/${saId}`));
}
