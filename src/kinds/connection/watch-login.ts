import type { IamClient } from "../../console/client/client.ts";
import { wrapCalls } from "../../console/client/wrap-calls.ts";
import { type IamError, isIamError } from "../../console/errors.ts";

/**
 * A wrapper of the client that calls `onRefused` when the console no longer accepts the connection's own login. Calls
 * with an API key are not watched, because they say nothing about the login.
 */
export function watchLogin(client: IamClient, onRefused: (error: IamError) => void): IamClient {
  const { authenticate, clockSkew, consoleTime, close } = client;
  const watched = async (call: () => Promise<unknown>, usesLogin: boolean) => {
    try {
      return await call();
    } catch (error) {
      if (usesLogin && isRefusal(error)) onRefused(error);
      throw error;
    }
  };
  return {
    ...wrapCalls(client, watched),
    authenticate,
    clockSkew,
    consoleTime,
    close,
    get urgent() {
      return watchLogin(client.urgent, onRefused);
    },
    get requested() {
      return watchLogin(client.requested, onRefused);
    },
  };
}

function isRefusal(error: unknown): error is IamError {
  return (
    (isIamError(error, "Unauthenticated") && (error.login ?? "Refused") === "Refused") ||
    isIamError(error, "MfaRequired") ||
    isIamError(error, "LoginPaused")
  );
}
