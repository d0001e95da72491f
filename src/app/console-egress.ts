/** How the operator reaches a console: the proxy and the permitted addresses. */
import { isIP } from "node:net";
import { parseConnectionKey } from "../connections/connection-key.ts";
import { type AddressPolicy, createAddressPolicy } from "../http/address-policy.ts";
import { proxyFor } from "../http/proxy.ts";
import { canonicalHost } from "../util/host.ts";
import type { ApiServerAddresses } from "./api-server-addresses.ts";
import type { Config } from "./config.ts";

const HOW_TO_ALLOW =
  " (for Connections, the operator's flag --connection-networks can allow it; chart: connections.networks)";

/** The addresses that namespaced Connections can reach. */
export function connectionAddresses(
  { connectionNetworks }: Pick<Config, "connectionNetworks">,
  apiServer: ApiServerAddresses,
): AddressPolicy {
  return createAddressPolicy({
    allowed: connectionNetworks,
    refused: () => apiServer.current(),
    ready: () => apiServer.refresh(),
    advice: HOW_TO_ALLOW,
  });
}

/**
 * A ClusterConnection can reach any address and uses the proxy of the operator's environment unless it names its own.
 * For a Connection, the policy checks the address of the console, or of the proxy that the Connection names. The proxy
 * of the environment checks addresses itself, so a Connection uses that proxy only if no networks are set and the
 * console's host is not a refused address.
 */
export function egressFor(
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
  const host = canonicalHost(new URL(baseURL).hostname);
  const isRefused = isIP(host) !== 0 && addresses.refuses(host);
  const canUseShared = connectionNetworks.length === 0 && !isRefused;
  return shared !== undefined && canUseShared ? { proxy: shared } : { addresses };
}
