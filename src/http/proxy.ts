/** Selects the proxy for a host from the usual environment variables. Pure. */
import { isIP } from "node:net";
import { canonicalHost } from "../util/host.ts";
import { ownEntry } from "../util/own-entry.ts";
import { familyOf, networkList, parseNetwork } from "./networks.ts";

export interface ProxyEnvironment {
  /** For https:// and http:// URLs; empty for no proxy. */
  readonly https: string;
  readonly http: string;
  /** Hosts without a proxy: names, domains, addresses, each with or without a port; networks in CIDR notation; `*`. */
  readonly none: string;
}

/** From HTTPS_PROXY, HTTP_PROXY and NO_PROXY, in upper or lower case. */
export function readProxyEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): ProxyEnvironment {
  const read = (name: string) =>
    ownEntry(environment, name) || ownEntry(environment, name.toLowerCase()) || "";
  return { https: read("HTTPS_PROXY"), http: read("HTTP_PROXY"), none: read("NO_PROXY") };
}

/** `undefined` if the URL needs no proxy. Loopback hosts never use a proxy. */
export function proxyFor(url: string, { https, http, none }: ProxyEnvironment): string | undefined {
  const { protocol, hostname, port } = new URL(url);
  const proxy = protocol === "https:" ? https : http;
  const host = canonicalHost(hostname);
  const target = { host, port: port || (protocol === "https:" ? "443" : "80") };
  if (proxy === "" || isLoopback(host)) return undefined;
  const exceptions = none.split(/[\s,]+/).filter((entry) => entry !== "");
  return exceptions.some((entry) => covers(entry, target)) ? undefined : proxy;
}

interface Target {
  readonly host: string;
  readonly port: string;
}

/** `example.com` covers the domain and its subdomains; `.example.com` and `*.example.com` cover only the subdomains. */
function covers(entry: string, { host, port }: Target): boolean {
  if (entry === "*") return true;
  if (entry.includes("/")) return isIP(host) !== 0 && contains(entry, host);
  const [, name = entry, only] = /^(.*[^:]):([0-9]+)$/.exec(isIP(entry) === 0 ? entry : "") ?? [];
  if (only !== undefined && only !== port) return false;
  const [, onlySubdomains, domain = ""] = /^(\*?\.)?(.*)$/.exec(name) ?? [];
  const canonical = canonicalHost(domain);
  return host.endsWith(`.${canonical}`) || (onlySubdomains === undefined && host === canonical);
}

function contains(text: string, address: string): boolean {
  const network = parseNetwork(text);
  return network !== undefined && networkList([network]).check(address, familyOf(address));
}

function isLoopback(host: string): boolean {
  return host === "localhost" || contains("127.0.0.0/8", host) || contains("::1/128", host);
}
