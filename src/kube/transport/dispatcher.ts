import { createSecureContext, type SecureContext } from "node:tls";
import { buildConnector, type Dispatcher, Pool, ProxyAgent } from "undici";
import { HttpError } from "../../http/http.ts";
import { servedAs, servedAtHost, withCanonicalName } from "../../http/server-name.ts";
import { SECOND } from "../../util/time.ts";
import type { KubeEndpoint, TlsMaterial } from "../config/credentials.ts";

const CONNECT_MS = 5 * SECOND;
/** The server closes idle connections after about 90 s; closing them earlier avoids writes to a closed connection. */
const KEEP_ALIVE_MS = 60 * SECOND;
/** Shorter than the idle limits of load balancers. */
const TCP_KEEP_ALIVE_MS = 30 * SECOND;

/** Connections to the API server, without timeouts for answers: every caller has its own limit. */
export function createDispatcher(
  { server, proxyUrl, lookup }: KubeEndpoint,
  tls: TlsMaterial,
  connections: number,
): Dispatcher {
  const { origin, protocol } = new URL(server);
  const tlsOptions = {
    ...(protocol === "https:" ? { secureContext: secureContextOf(tls) } : {}),
    ...(tls.serverName === undefined ? servedAtHost(server) : servedAs(tls.serverName)),
    rejectUnauthorized: !tls.insecure,
  };
  const connect = {
    timeout: CONNECT_MS,
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
    autoSelectFamily: true,
    ...(lookup === undefined ? {} : { lookup }),
  };
  const common = {
    connections,
    allowH2: false,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  if (proxyUrl !== undefined) {
    return new ProxyAgent({
      ...common,
      uri: proxyUrl,
      connectTimeout: CONNECT_MS,
      requestTls: tlsOptions,
      clientFactory: (url) =>
        new Pool(url, { connect: withCanonicalName(buildConnector(connect)) }),
    });
  }
  return new Pool(origin, { ...common, connect: { ...connect, ...tlsOptions } });
}

/** One context for all connections with the same settings, because reading hundreds of CAs takes a while. */
const secureContexts = new WeakMap<TlsMaterial, SecureContext>();

function secureContextOf(tls: TlsMaterial): SecureContext {
  const known = secureContexts.get(tls);
  if (known !== undefined) return known;
  const made = createContext(tls);
  secureContexts.set(tls, made);
  return made;
}

/** Replaces OpenSSL's error, which names neither the certificate's owner nor its purpose. */
function createContext({ ca, cert, key, passphrase }: TlsMaterial): SecureContext {
  try {
    return createSecureContext({ ca: ca && [...ca], cert, key, passphrase });
  } catch {
    throw new HttpError("refused", "the certificates or the key for the API server cannot be read");
  }
}
