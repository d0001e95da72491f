import { Agent, buildConnector, type Dispatcher, Pool, ProxyAgent } from "undici";
import { type AddressPolicy, guardedConnector } from "../../http/address-policy.ts";
import { startDeadline } from "../../http/deadline.ts";
import { HttpError, type HttpRequest, type HttpResponse, type SendHttp } from "../../http/http.ts";
import type { ReserveMemory } from "../../http/pending-answer.ts";
import type { Lookup } from "../../http/resolver.ts";
import { ResponseMemoryLimiter } from "../../http/response-memory-limiter.ts";
import { sendOnce } from "../../http/send-once.ts";
import { servedAtHost, withCanonicalName } from "../../http/server-name.ts";
import { type TlsSettings, tlsOptions } from "../../http/tls-settings.ts";
import type { Clock } from "../../util/time.ts";

interface ConsoleTransportOptions extends TlsSettings {
  /** The only origin that requests are sent to. */
  readonly origin: string;
  /** The proxy for the console; connections use a tunnel through it. */
  readonly proxy?: string;
  /** The allowed addresses of the console, or of the proxy if there is one; absent: any address. */
  readonly addresses?: AddressPolicy;
  /** Resolves the names of the console and the proxy; absent: as the machine does. */
  readonly lookup?: Lookup | undefined;
  /** The namespace whose users decide which console this is; absent: an administrator. */
  readonly owner?: string | undefined;
  readonly connections: number;
  readonly clock: Clock;
}

export interface Transport {
  readonly send: SendHttp;
  /** Closes every connection and aborts every request. */
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 5_000;
/** How long an idle connection is kept for the next read. */
const READ_KEEP_ALIVE_MS = 60_000;
/** The same for POSTs, whatever the server announces: servers usually keep an idle connection for several seconds. */
const POST_KEEP_ALIVE_MS = 1_000;
const MAX_HEADER_BYTES = 32 * 1_024;
/**
 * Shared by the connections of all namespaces, which take turns: the answers of tenants' consoles must not fill the
 * process's memory. What administrators connect to has a share of its own.
 */
const largeAnswers = {
  ofNamespaces: new ResponseMemoryLimiter(16 * 2 ** 20),
  ofCluster: new ResponseMemoryLimiter(16 * 2 ** 20),
};

/**
 * HTTP/1.1 over pooled connections to one origin. One request is one attempt: no retries, no redirects.
 *
 * A POST uses a connection that was in use a second ago, or a new one. If the console closed an idle connection at
 * that moment, it would be unknown whether the service account or key was created.
 */
export function createTransport(options: ConsoleTransportOptions): Transport {
  // What the transport keeps must not hold the certificates' texts.
  const { origin, clock } = options;
  const { owner } = options;
  const limiter = owner === undefined ? largeAnswers.ofCluster : largeAnswers.ofNamespaces;
  const turn = owner ?? {};
  const reserveMemory: ReserveMemory = (...claim) => limiter.claim(turn, ...claim);
  const tls = { ...tlsOptions(options), ...servedAtHost(origin) };
  const forReads = createAgent(options, tls, READ_KEEP_ALIVE_MS);
  const forPosts = createAgent(options, tls, POST_KEEP_ALIVE_MS);
  return {
    send: (request) =>
      send(
        request.method === "POST" ? forPosts : forReads,
        request,
        { origin, clock },
        reserveMemory,
      ),
    close: async () => {
      await Promise.all([forReads.destroy(), forPosts.destroy()]);
    },
  };
}

function createAgent(
  { connections, proxy, addresses, lookup }: ConsoleTransportOptions,
  tls: ReturnType<typeof tlsOptions>,
  keepAliveMs: number,
): Dispatcher {
  const pool = {
    allowH2: false,
    connections,
    pipelining: 1,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
    // The total deadline of each request covers both.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: MAX_HEADER_BYTES,
  };
  const wire = {
    timeout: CONNECT_TIMEOUT_MS,
    keepAliveInitialDelay: 30_000,
    autoSelectFamily: true,
    ...(lookup === undefined ? {} : { lookup }),
  };
  if (proxy === undefined)
    return new Agent({ ...pool, connect: guarded({ ...wire, ...tls }, addresses, lookup) });
  return new ProxyAgent({
    ...pool,
    uri: proxy,
    connectTimeout: CONNECT_TIMEOUT_MS,
    // Only for the console: the proxy does not get a client certificate.
    requestTls: tls,
    // Plain http:// uses a tunnel too: the proxy then does not process, and possibly log, requests with credentials.
    proxyTunnel: true,
    clientFactory: (url) =>
      new Pool(url, { connect: withCanonicalName(guarded(wire, addresses, lookup)) }),
  });
}

function guarded(
  connect: buildConnector.BuildOptions,
  addresses: AddressPolicy | undefined,
  lookup: Lookup | undefined,
): buildConnector.connector {
  const options = { ...connect, allowH2: false };
  return addresses === undefined
    ? buildConnector(options)
    : guardedConnector(options, addresses, lookup);
}

async function send(
  agent: Dispatcher,
  request: HttpRequest,
  { origin, clock }: Pick<ConsoleTransportOptions, "origin" | "clock">,
  reserveMemory: ReserveMemory,
): Promise<HttpResponse> {
  if (new URL(request.url).origin !== origin) {
    throw new HttpError("refused", "the URL is of another origin");
  }
  const deadline = startDeadline(clock, request.timeoutMs, request.signal);
  return sendOnce(agent, request, deadline.signal, reserveMemory).finally(deadline.stop);
}
