/** Calls which the API description does not show; each answers only when it was switched on. */
import { ACTIONS } from "../actions.ts";
import { notFound } from "../api-error.ts";
import { type Call, type Endpoint, nothing } from "../call.ts";
import { accountInPath, requireOnAccount } from "./get-service-account.ts";

export const disableKey: Endpoint = (call) => {
  const keyId = keyInPath(call, ACTIONS.disableKey);
  call.world.setKeyStatus(keyId, "inactive");
  return nothing(204);
};

export const deleteKey: Endpoint = (call) => {
  const keyId = keyInPath(call, ACTIONS.deleteKey);
  call.world.deleteKey(keyId);
  return nothing(204);
};

export const deleteServiceAccount: Endpoint = (call) => {
  const account = accountInPath(call);
  requireOnAccount(call, ACTIONS.deleteServiceAccount, account);
  call.world.deleteAccount(account.saId);
  return nothing(204);
};

/** The key named in the path, of the account named there too if the path has both. */
function keyInPath(call: Call, action: string): string {
  const { keyId = "", saId } = call.params;
  const key = call.world.keys.get(keyId);
  const account = key && call.world.accounts.get(key.saId);
  if (!key || !account || (saId !== undefined && saId !== key.saId)) throw notFound("API key");
  requireOnAccount(call, action, account);
  return keyId;
}
