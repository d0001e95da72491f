/** How the operator gets to a console: by which proxy, and to which addresses. */
import { isIP } from "node:net";
import { parseConnectionKey } from "../controllers/connection-key.ts";
import { type AddressPolicy, createAddressPolicy } from "../http/address-policy.ts";
import { bareHost } from "../http/networks.ts";
import { proxyFor } from "../http/proxy.ts";
import type { Config } from "./config.ts";

/** Where namespaced Connections may not go; `undefined` where they may go anywhere. */
export function connectionAddresses(
  { connectionNetworks }: Pick<Config, "connectionNetworks">,
  baseURL: string,
): AddressPolicy | undefined {
  if (connectionNetworks === undefined) return undefined;
  const host = bareHost(new URL(baseURL).hostname);
  return createAddressPolicy({
    allowed: connectionNetworks,
    refused: isIP(host) === 0 ? [] : [host],
  });
}

/**
 * An administrator's connection may go anywhere, and by the proxy of the operator's environment. Whom a proxy connects to is
 * the proxy's to judge: where tenants are kept from addresses, theirs get no proxy but one that they name, which is judged
 * as a console would be.
 */
export function wayTo(
  key: string,
  { baseURL, proxyURL }: { readonly baseURL: string; readonly proxyURL?: string },
  { proxy: environment }: Pick<Config, "proxy">,
  addresses: AddressPolicy | undefined,
): { readonly addresses?: AddressPolicy; readonly proxy?: string } {
  const isJudged = addresses !== undefined && parseConnectionKey(key).kind === "Connection";
  const proxy = proxyURL ?? (isJudged ? undefined : proxyFor(baseURL, environment));
  return { ...(isJudged ? { addresses } : {}), ...(proxy === undefined ? {} : { proxy }) };
}
