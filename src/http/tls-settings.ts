/** The CAs that a TLS connection trusts, and the client certificate that it presents. */
import { hash } from "node:crypto";
import { createSecureContext, getCACertificates, type SecureContext } from "node:tls";
import { Redacted } from "../util/redacted.ts";

export interface TlsSettings {
  /** CA certificates in PEM. */
  readonly caBundle?: string | undefined;
  /** Whether only `caBundle` is trusted, without the system's CAs. */
  readonly trustOnlyCABundle?: boolean | undefined;
  /** Presented if the server requests a client certificate. */
  readonly clientCertificate?: ClientCertificate | undefined;
}

export interface ClientCertificate {
  /** PEM: the certificate and its intermediate certificates. */
  readonly chain: string;
  readonly key: Redacted;
}

/** Contexts in use, by a hash of their settings: connections with equal settings share one. */
const contexts = new Map<string, WeakRef<SecureContext>>();

/** Options for `tls.connect`. They hold none of the texts. */
export function tlsOptions(settings: TlsSettings): { readonly secureContext?: SecureContext } {
  const { caBundle, trustOnlyCABundle, clientCertificate } = settings;
  if (caBundle === undefined && clientCertificate === undefined) return {};
  const { chain, key } = clientCertificate ?? {};
  const content = [caBundle, trustOnlyCABundle, chain, key?.reveal()];
  const id = hash("sha256", JSON.stringify(content));
  const secureContext = contexts.get(id)?.deref() ?? createContext(settings);
  for (const [old, context] of contexts) if (context.deref() === undefined) contexts.delete(old);
  contexts.set(id, new WeakRef(secureContext));
  return { secureContext };
}

function createContext({
  caBundle,
  trustOnlyCABundle,
  clientCertificate,
}: TlsSettings): SecureContext {
  const pair = pairOf(clientCertificate);
  if (trustOnlyCABundle === true) return createSecureContext({ ca: caBundle ?? [], ...pair });
  // A copy of the system's CAs takes 1.3 MB; a copy for each Connection would fill the container's memory.
  const secureContext: SharedContext = createSecureContext(pair);
  if (caBundle === undefined) return secureContext;
  if (secureContext.context.addCACert === undefined)
    return createSecureContext({ ca: [...getCACertificates("default"), caBundle], ...pair });
  secureContext.context.addCACert(caBundle);
  return secureContext;
}

/** The method that Node itself calls for `ca`; absent if a Node version changes it. */
interface SharedContext extends SecureContext {
  readonly context: { addCACert?(pem: string): void };
}

/** `undefined` if they are not a PEM certificate and its unencrypted key. */
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
