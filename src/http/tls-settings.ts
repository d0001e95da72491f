/** Whose certificates a TLS connection accepts, and which one it presents. */
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";
import { Redacted } from "../util/redacted.ts";

export interface TlsSettings {
  /** PEM certificates of authorities. */
  readonly caBundle?: string | undefined;
  /** Whether only they are trusted, and not those of the system as well. */
  readonly trustOnlyCABundle?: boolean | undefined;
  /** Presented where the server asks for one. */
  readonly clientCertificate?: ClientCertificate | undefined;
}

export interface ClientCertificate {
  /** PEM: the certificate, and those between it and its authority. */
  readonly chain: string;
  readonly key: Redacted;
}

/** For `tls.connect`; made once for all connections, since reading hundreds of authorities takes a while. */
export function tlsOptions({ caBundle, trustOnlyCABundle, clientCertificate }: TlsSettings): {
  readonly secureContext?: SecureContext;
} {
  if (caBundle === undefined && clientCertificate === undefined) return {};
  const pair = pairOf(clientCertificate);
  if (trustOnlyCABundle === true)
    return { secureContext: createSecureContext({ ca: caBundle ?? [], ...pair }) };
  // As many copies of the system's authorities as there are Connections would fill the container's memory: 1.3 MB each.
  const secureContext: SharedContext = createSecureContext(pair);
  if (caBundle === undefined) return { secureContext };
  if (secureContext.context.addCACert === undefined)
    return {
      secureContext: createSecureContext({
        ca: [...getCACertificates("default"), caBundle],
        ...pair,
      }),
    };
  secureContext.context.addCACert(caBundle);
  return { secureContext };
}

/** What Node itself calls for `ca`; absent in a version that changes it. */
interface SharedContext extends SecureContext {
  readonly context: { addCACert?(pem: string): void };
}

/** `undefined` where they are not a certificate in PEM and its key, unencrypted. */
export function readClientCertificate(chain: string, key: string): ClientCertificate | undefined {
  const pair = { chain, key: new Redacted(key) };
  try {
    createSecureContext(pairOf(pair));
    return pair;
  } catch {
    return undefined;
  }
}

function pairOf(pair: ClientCertificate | undefined) {
  return pair === undefined ? {} : { cert: pair.chain, key: pair.key.reveal() };
}
