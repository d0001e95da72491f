/** The server name of a TLS connection. The handshake contains only names; addresses are checked in the certificate. */
import { isIP } from "node:net";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import type { buildConnector } from "undici";
import { bareHost } from "./networks.ts";

/** Options for `tls.connect`: the certificate must be valid for `name`, whatever host the connection goes to. */
export function servedAs(name: string) {
  if (isIP(name) === 0) return { servername: name };
  return {
    checkServerIdentity: (_: string, certificate: PeerCertificate) =>
      checkServerIdentity(name, certificate),
  };
}

/** Removes an IP address from `servername`: undici sets a proxy's address there, and Node 26 refuses it. */
export function withoutAddressAsName(connect: buildConnector.connector): buildConnector.connector {
  return ({ servername, ...target }, callback) => {
    const isName = servername !== undefined && isIP(bareHost(servername)) === 0;
    connect(isName ? { ...target, servername } : target, callback);
  };
}
