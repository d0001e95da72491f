import type { ServiceAccount } from "../api/service-account.ts";
import { originOf } from "../connections/connection-origin.ts";

/**
 * Why an account must not be used over a connection: it was found in a different console than the connection's current
 * console, where the same saId may belong to another account. `undefined` if it can be used.
 */
export function boundToOtherConsole(
  { metadata, status }: ServiceAccount,
  { baseURL }: { readonly baseURL: string },
): string | undefined {
  const { consoleURL } = status ?? {};
  if (consoleURL === undefined || consoleURL === originOf(baseURL)) return undefined;
  return `ServiceAccount ${metadata.name} was found at ${consoleURL}, and its connection leads to ${originOf(baseURL)} now; it has to be found there first.`;
}
