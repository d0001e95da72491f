/** How the operator reaches a console: by which proxy, and at which addresses. */
import { isIP } from "node:net";
import { parseConnectionKey } from "../controllers/connection-key.ts";
import { type AddressPolicy, createAddressPolicy } from "../http/address-policy.ts";
import { bareHost } from "../http/networks.ts";
import { proxyFor } from "../http/proxy.ts";
import type { ApiServerAddresses } from "./api-server-addresses.ts";
import type { Config } from "./config.ts";

/** Which addresses namespaced Connections can reach. */
export function connectionAddresses(
  { connectionNetworks }: Pick<Config, "connectionNetworks">,
  apiServer: ApiServerAddresses,
): AddressPolicy {
  return createAddressPolicy({
    allowed: connectionNetworks,
    refused: () => apiServer.current(),
    ready: () => apiServer.refresh(),
  });
}

/**
 * A ClusterConnection can reach any address, and goes through the proxy of the operator's environment. For a Connection the
 * policy judges the console's address, or that of the proxy that it names. The proxy of the environment judges addresses
 * itself, so a Connection gets it only if no networks are set and its host is not a refused address.
 */
export function wayTo(
  key: string,
  { baseURL, proxyURL }: { readonly baseURL: string; readonly proxyURL?: string },
  { proxy: environment, connectionNetworks }: Pick<Config, "proxy" | "connectionNetworks">,
  addresses: AddressPolicy,
): { readonly addresses?: AddressPolicy; readonly proxy?: string } {
  const shared = proxyFor(baseURL, environment);
  if (parseConnectionKey(key).kind !== "Connection") {
    const proxy = proxyURL ?? shared;
    return proxy === undefined ? {} : { proxy };
  }
  if (proxyURL !== undefined) return { addresses, proxy: proxyURL };
  const host = bareHost(new URL(baseURL).hostname);
  const isRefused = isIP(host) !== 0 && addresses.refuses(host);
  const mayUseShared = connectionNetworks.length === 0 && !isRefused;
  return shared !== undefined && mayUseShared ? { proxy: shared } : { addresses };
}
