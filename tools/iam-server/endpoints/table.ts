import type { Endpoint } from "../call.ts";
import type { AnyOperation } from "../operations.ts";
import { createServiceAccount } from "./create-service-account.ts";
import { evaluatePolicy } from "./evaluate-policy.ts";
import { deleteKey, deleteServiceAccount, disableKey } from "./extra-calls.ts";
import { getServiceAccount } from "./get-service-account.ts";
import { issueKey } from "./issue-key.ts";
import { listBindings } from "./list-bindings.ts";
import { listInstances } from "./list-instances.ts";
import { listPolicies } from "./list-policies.ts";
import { listResourceQuotas } from "./list-resource-quotas.ts";
import { listServiceAccounts } from "./list-service-accounts.ts";
import { login } from "./login.ts";
import { searchActions } from "./search-actions.ts";
import { syncBindings } from "./sync-bindings.ts";
import { validateKey } from "./validate-key.ts";

/** What each call does. */
export const ENDPOINTS: Readonly<Record<AnyOperation, Endpoint>> = {
  login,
  createServiceAccount,
  listServiceAccounts,
  getServiceAccount,
  issueKey,
  validateKey,
  listPolicies,
  syncBindings,
  listBindings,
  evaluatePolicy,
  listInstances,
  listResourceQuotas,
  searchActions,
  disableKey,
  deleteKey,
  deleteServiceAccount,
};
