/** What a TLS client takes a server for: names go into the handshake, addresses are only looked for in the certificate. */
import { isIP } from "node:net";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import type { buildConnector } from "undici";
import { bareHost } from "./networks.ts";

/** For `tls.connect`: the certificate has to be one of `name`, whatever host is connected to. */
export function servedAs(name: string) {
  if (isIP(name) === 0) return { servername: name };
  return {
    checkServerIdentity: (_: string, certificate: PeerCertificate) =>
      checkServerIdentity(name, certificate),
  };
}

/** Leaves out an address where the server's name belongs: undici gives a proxy's there, and Node 26 refuses it. */
export function withoutAddressAsName(connect: buildConnector.connector): buildConnector.connector {
  return ({ servername, ...target }, callback) => {
    const isName = servername !== undefined && isIP(bareHost(servername)) === 0;
    connect(isName ? { ...target, servername } : target, callback);
  };
}
