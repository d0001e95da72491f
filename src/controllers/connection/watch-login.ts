import type { IamClient } from "../../iam/client/client.ts";
import { type IamError, isIamError } from "../../iam/errors.ts";

/**
 * A wrapper of the client that calls `onRefused` when the console no longer accepts the connection's own login. Calls
 * with an API key are not watched, because they say nothing about the login.
 */
export function watchLogin(client: IamClient, onRefused: (error: IamError) => void): IamClient {
  const watched = async <T>(call: Promise<T>): Promise<T> => {
    try {
      return await call;
    } catch (error) {
      if (isRefusal(error)) onRefused(error);
      throw error;
    }
  };
  const unlessKeyed = <T>(key: unknown, call: Promise<T>) =>
    key === undefined ? watched(call) : call;
  return {
    authenticate: (signal) => client.authenticate(signal),
    createServiceAccount: (account, signal) =>
      watched(client.createServiceAccount(account, signal)),
    listServiceAccounts: (signal) => watched(client.listServiceAccounts(signal)),
    getServiceAccount: (saId, signal) => watched(client.getServiceAccount(saId, signal)),
    issueKey: (saId, key, signal) => watched(client.issueKey(saId, key, signal)),
    validateKey: (body, signal) => client.validateKey(body, signal),
    listPolicies: (query, signal) => watched(client.listPolicies(query, signal)),
    syncBindings: (bindings, signal) => watched(client.syncBindings(bindings, signal)),
    listBindings: (tpn, signal) => watched(client.listBindings(tpn, signal)),
    evaluatePolicy: (body, signal) => watched(client.evaluatePolicy(body, signal)),
    listInstances: (page, key, signal) => client.listInstances(page, key, signal),
    listResourceQuotas: (query, key, signal) =>
      unlessKeyed(key, client.listResourceQuotas(query, key, signal)),
    searchActions: (query, key, signal) =>
      unlessKeyed(key, client.searchActions(query, key, signal)),
    extra: watchExtra(client.extra, watched),
    get urgent() {
      return watchLogin(client.urgent, onRefused);
    },
    get requested() {
      return watchLogin(client.requested, onRefused);
    },
    clockSkew: () => client.clockSkew(),
    close: () => client.close(),
  };
}

function watchExtra(
  extra: IamClient["extra"],
  watched: <T>(call: Promise<T>) => Promise<T>,
): IamClient["extra"] {
  const { disableKey, deleteKey, deleteServiceAccount } = extra;
  return {
    ...(disableKey === undefined
      ? {}
      : { disableKey: (saId, keyId, signal) => watched(disableKey(saId, keyId, signal)) }),
    ...(deleteKey === undefined
      ? {}
      : { deleteKey: (saId, keyId, signal) => watched(deleteKey(saId, keyId, signal)) }),
    ...(deleteServiceAccount === undefined
      ? {}
      : { deleteServiceAccount: (saId, signal) => watched(deleteServiceAccount(saId, signal)) }),
  };
}

function isRefusal(error: unknown): error is IamError {
  return (
    (isIamError(error, "Unauthenticated") && !error.loginStands) ||
    isIamError(error, "MfaRequired") ||
    isIamError(error, "LoginPaused")
  );
}
