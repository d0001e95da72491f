/** The server name of a TLS connection. The handshake contains only names; addresses are checked in the certificate. */
import { isIP } from "node:net";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import type { buildConnector } from "undici";
import { canonicalHost } from "../util/host.ts";

/** Options for `tls.connect`: the certificate must be valid for `name`, whatever host the connection goes to. */
export function servedAs(name: string) {
  const host = canonicalHost(name);
  if (isIP(host) === 0) return { servername: host };
  return {
    checkServerIdentity: (_: string, certificate: PeerCertificate) =>
      checkServerIdentity(host, certificate),
  };
}

/** Options for `tls.connect` to the host of this URL: the host's canonical name, if it is a name. */
export function servedAtHost(url: string): { readonly servername?: string } {
  const host = canonicalHost(new URL(url).hostname);
  return isIP(host) === 0 ? { servername: host } : {};
}

/**
 * Makes `servername` canonical, and removes an IP address from it: undici sets a proxy's host there, and Node 26 refuses
 * an address.
 */
export function withCanonicalName(connect: buildConnector.connector): buildConnector.connector {
  return ({ servername = "", ...target }, callback) => {
    const host = canonicalHost(servername);
    const isName = host !== "" && isIP(host) === 0;
    connect(isName ? { ...target, servername: host } : target, callback);
  };
}
