/** Spellings of a URL's host. */
import { isIP } from "node:net";
import { domainToASCII } from "node:url";

/** The host of a URL as it is looked up: without the brackets of an IPv6 address. */
export function bareHost(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, "");
}

/**
 * The one spelling of a host for comparisons and TLS: without brackets, in lower case and ASCII (IDNA), as in a URL, and
 * without the trailing dot of an absolute name. A lookup keeps the dot: it excludes the search domains.
 */
export function canonicalHost(hostname: string): string {
  const host = bareHost(hostname).replace(/\.$/, "");
  return isIP(host) === 0 ? domainToASCII(host) || host.toLowerCase() : host.toLowerCase();
}
