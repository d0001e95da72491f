import { createSecureContext, type SecureContext } from "node:tls";
import { type Dispatcher, Pool, ProxyAgent } from "undici";
import { HttpError } from "../../http/http.ts";
import { type Clock, SECOND } from "../../util/time.ts";
import type { KubeCredentials, KubeEndpoint, TlsMaterial } from "../config/credentials.ts";

const CONNECT_MS = 5 * SECOND;
/** The server closes idle connections after about 90 s; being first avoids writing to a closed one. */
const KEEP_ALIVE_MS = 60 * SECOND;
/** Shorter than the idle limits of load balancers. */
const TCP_KEEP_ALIVE_MS = 30 * SECOND;
const CLOSE_MS = 5 * SECOND;

/** A pool that is replaced when the authority or the client certificate changes. */
export class RenewingPool {
  readonly #endpoint: KubeEndpoint;
  readonly #clock: Clock;
  readonly #connections: number;
  #current: { tls: TlsMaterial; dispatcher: Dispatcher } | undefined;

  constructor(endpoint: KubeEndpoint, clock: Clock, connections: number) {
    this.#endpoint = endpoint;
    this.#clock = clock;
    this.#connections = connections;
  }

  get({ tls }: KubeCredentials): Dispatcher {
    if (this.#current?.tls === tls) return this.#current.dispatcher;
    const dispatcher = createDispatcher(this.#endpoint, tls, this.#connections);
    // Calls under way end on the old connections.
    void this.close();
    this.#current = { tls, dispatcher };
    return dispatcher;
  }

  /** Waits for calls under way, a little. */
  async close(): Promise<void> {
    const dispatcher = this.#current?.dispatcher;
    this.#current = undefined;
    if (dispatcher === undefined) return;
    const cancel = this.#clock.setTimer(CLOSE_MS, () => void dispatcher.destroy());
    await dispatcher.close().catch(() => undefined);
    cancel();
  }
}

/** Connections to the API server. Silence on them is for the caller to judge, who has a deadline. */
export function createDispatcher(
  { server, proxyUrl }: KubeEndpoint,
  tls: TlsMaterial,
  connections: number,
): Dispatcher {
  const { origin, protocol } = new URL(server);
  const tlsOptions = {
    ...(protocol === "https:" ? { secureContext: secureContextOf(tls) } : {}),
    ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
    rejectUnauthorized: !tls.insecure,
  };
  const connect = {
    timeout: CONNECT_MS,
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
    autoSelectFamily: true,
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
    return new ProxyAgent({ ...common, uri: proxyUrl, requestTls: tlsOptions, connect });
  }
  return new Pool(origin, { ...common, connect: { ...connect, ...tlsOptions } });
}

/** Of all connections, since there may be hundreds of authorities to read. */
const secureContexts = new WeakMap<TlsMaterial, SecureContext>();

function secureContextOf(tls: TlsMaterial): SecureContext {
  const known = secureContexts.get(tls);
  if (known !== undefined) return known;
  const made = createContext(tls);
  secureContexts.set(tls, made);
  return made;
}

/** The text of an error of OpenSSL may quote what it could not read. */
function createContext({ ca, cert, key, passphrase }: TlsMaterial): SecureContext {
  try {
    return createSecureContext({
      ...(ca === undefined ? {} : { ca: [...ca] }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(passphrase === undefined ? {} : { passphrase }),
    });
  } catch {
    const hint = "the certificates or the key for the API server cannot be read";
    throw new HttpError("refused", hint);
  }
}
