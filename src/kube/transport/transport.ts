/**
 * HTTP to the API server: undici over HTTP/1.1 with connection pools, deadlines and bounded bodies.
 *
 * HTTP/1.1 on purpose. Over HTTP/2 an aborted request leaves its session in place, so that behind a dead
 * connection every later request dies as well, watches included.
 */
import { type Dispatcher, Pool, ProxyAgent, request } from "undici";
import { startDeadline } from "../../http/deadline.ts";
import {
  HttpError,
  type HttpRequest,
  type HttpResponse,
  type OpenStream,
  type SendHttp,
  type StreamRequest,
  type StreamResponse,
} from "../../http/http.ts";
import { type Clock, SECOND } from "../../util/time.ts";
import type { Credentials, KubeEndpoint, TlsMaterial } from "../config/credentials.ts";
import { boundedBody, flatHeaders, rethrowing, toHttpError } from "./wire.ts";

export interface TransportOptions {
  readonly endpoint: KubeEndpoint;
  readonly clock: Clock;
  /** Told of every request on the wire; `code` is the status, or "<error>" where there was no answer. */
  readonly onRequest?: (method: string, code: string) => void;
  /** Connections for calls. */
  readonly connections?: number;
}

export interface KubeTransport {
  readonly send: SendHttp;
  /** The same over connections of its own: renewing the lease never waits behind work. */
  readonly sendLease: SendHttp;
  readonly openStream: OpenStream;
  /** Waits for calls under way, a little; then closes everything. */
  close(): Promise<void>;
}

const CONNECTIONS = 16;
const LEASE_CONNECTIONS = 2;
const CONNECT_MS = 5 * SECOND;
/** The server closes idle connections after about 90 s; being first avoids writing to a closed one. */
const KEEP_ALIVE_MS = 60 * SECOND;
/** Shorter than the idle limits of load balancers. */
const TCP_KEEP_ALIVE_MS = 30 * SECOND;
/** Only a safety net: every call has a deadline of its own. */
const CALL_SILENCE_MS = 60 * SECOND;
const CLOSE_MS = 5 * SECOND;

export function createKubeTransport(options: TransportOptions): KubeTransport {
  const calls = new RenewingPool(options, options.connections ?? CONNECTIONS);
  const leases = new RenewingPool(options, LEASE_CONNECTIONS);
  const streams = new Set<Dispatcher>();
  return {
    send: (call) => sendOnce(options, calls, call),
    sendLease: (call) => sendOnce(options, leases, call),
    openStream: (call) => openStream(options, streams, call),
    async close() {
      await Promise.all([
        calls.close(),
        leases.close(),
        ...[...streams].map((one) => one.destroy()),
      ]);
    },
  };
}

/** A pool that is replaced when the authority or the client certificate changes. */
class RenewingPool {
  readonly #options: TransportOptions;
  readonly #connections: number;
  #current: { tls: TlsMaterial; dispatcher: Dispatcher } | undefined;

  constructor(options: TransportOptions, connections: number) {
    this.#options = options;
    this.#connections = connections;
  }

  get({ tls }: Credentials): Dispatcher {
    if (this.#current !== undefined && isSame(this.#current.tls, tls)) {
      return this.#current.dispatcher;
    }
    // Calls under way end on the old connections.
    void this.close();
    const dispatcher = createDispatcher(this.#options.endpoint, tls, this.#connections);
    this.#current = { tls, dispatcher };
    return dispatcher;
  }

  async close(): Promise<void> {
    const dispatcher = this.#current?.dispatcher;
    this.#current = undefined;
    if (dispatcher === undefined) return;
    const cancel = this.#options.clock.setTimer(CLOSE_MS, () => void dispatcher.destroy());
    await dispatcher.close().catch(() => undefined);
    cancel();
  }
}

function isSame(a: TlsMaterial, b: TlsMaterial): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

function createDispatcher(
  { server, proxyUrl }: KubeEndpoint,
  tls: TlsMaterial,
  connections: number,
): Dispatcher {
  const tlsOptions = {
    ...(tls.ca === undefined ? {} : { ca: [...tls.ca] }),
    ...(tls.cert === undefined ? {} : { cert: tls.cert }),
    ...(tls.key === undefined ? {} : { key: tls.key }),
    ...(tls.passphrase === undefined ? {} : { passphrase: tls.passphrase }),
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
    headersTimeout: CALL_SILENCE_MS,
    bodyTimeout: CALL_SILENCE_MS,
  };
  if (proxyUrl !== undefined) {
    return new ProxyAgent({ ...common, uri: proxyUrl, requestTls: tlsOptions, connect });
  }
  return new Pool(new URL(server).origin, { ...common, connect: { ...connect, ...tlsOptions } });
}

async function sendOnce(
  options: TransportOptions,
  pool: RenewingPool,
  call: HttpRequest,
): Promise<HttpResponse> {
  const deadline = startDeadline(options.clock, call.timeoutMs, call.signal);
  try {
    return await deadline.race(
      authenticated(options, (credentials) =>
        exchange(options, pool.get(credentials), call, credentials, deadline.signal),
      ),
    );
  } catch (error) {
    throw toHttpError(error, deadline.signal);
  } finally {
    deadline.stop();
  }
}

/**
 * Sends with the credentials at hand; after a 401 reads them anew and sends once more. A refused request was
 * not executed, so this is safe for writes as well, and it stays within the call's one deadline.
 */
async function authenticated<R extends { readonly status: number }>(
  { endpoint }: TransportOptions,
  attempt: (credentials: Credentials) => Promise<R>,
  discard: (refused: R) => void = () => undefined,
): Promise<R> {
  const credentials = await endpoint.credentials().catch(withoutCredentials);
  const response = await attempt(credentials);
  if (response.status !== 401) return response;
  const renewed = await endpoint.credentials(credentials).catch(() => undefined);
  if (renewed === undefined) return response;
  discard(response);
  return attempt(renewed);
}

/** A plugin's error text may hold anything; its name must do. */
function withoutCredentials(error: unknown): never {
  const name = error instanceof Error ? error.name : "unknown";
  throw new HttpError("refused", `no credentials (${name})`);
}

async function exchange(
  { onRequest }: TransportOptions,
  dispatcher: Dispatcher,
  call: HttpRequest,
  credentials: Credentials,
  signal: AbortSignal,
): Promise<HttpResponse> {
  try {
    const { statusCode, headers, body } = await request(call.url, {
      dispatcher: guarded(dispatcher, call.beforeSending),
      method: call.method,
      headers: { ...call.headers, ...credentials.headers },
      body: call.body ?? null,
      signal,
      // undici closes the connection after a DELETE otherwise.
      reset: false,
    });
    const response = {
      status: statusCode,
      headers: flatHeaders(headers),
      body: await boundedBody(body, call.maxBytes),
    };
    onRequest?.(call.method, String(statusCode));
    return response;
  } catch (error) {
    onRequest?.(call.method, "<error>");
    throw error;
  }
}

/** Calls wait for a free connection: whether one may still be sent is asked when it has got one. */
function guarded(dispatcher: Dispatcher, beforeSending: (() => void) | undefined): Dispatcher {
  if (beforeSending === undefined) return dispatcher;
  return dispatcher.compose(
    (dispatch) => (options, handler) => dispatch(options, withGuard(handler, beforeSending)),
  );
}

function withGuard(
  handler: Dispatcher.DispatchHandler,
  beforeSending: () => void,
): Dispatcher.DispatchHandler {
  return {
    onRequestStart(controller, context) {
      handler.onRequestStart?.(controller, context);
      try {
        beforeSending();
      } catch (cause) {
        controller.abort(new HttpError("refused", "it may not be sent any more", { cause }));
      }
    },
    onResponseStart: (...head) => handler.onResponseStart?.(...head),
    onResponseData: (...chunk) => handler.onResponseData?.(...chunk),
    onResponseEnd: (...end) => handler.onResponseEnd?.(...end),
    onResponseError: (...failure) => handler.onResponseError?.(...failure),
  };
}

/** Every stream has a connection of its own, which ends with it. */
async function openStream(
  options: TransportOptions,
  streams: Set<Dispatcher>,
  call: StreamRequest,
): Promise<StreamResponse> {
  const deadline = startDeadline(options.clock, call.headTimeoutMs, call.signal);
  try {
    const opened = await deadline.race(
      authenticated(
        options,
        (credentials) => openOnce(options, streams, call, credentials, deadline.signal),
        ({ close }) => close(),
      ),
    );
    // From here on only the caller's own signal counts.
    deadline.cancelTimer();
    return {
      status: opened.status,
      headers: opened.headers,
      body: closing(opened, deadline.signal, deadline.stop),
    };
  } catch (error) {
    deadline.stop();
    throw toHttpError(error, deadline.signal);
  }
}

interface OpenedStream extends StreamResponse {
  readonly close: () => void;
}

async function openOnce(
  { endpoint, onRequest }: TransportOptions,
  streams: Set<Dispatcher>,
  call: StreamRequest,
  credentials: Credentials,
  signal: AbortSignal,
): Promise<OpenedStream> {
  const dispatcher = createDispatcher(endpoint, credentials.tls, 1);
  streams.add(dispatcher);
  const close = () => {
    streams.delete(dispatcher);
    void dispatcher.destroy();
  };
  // The caller may abort without ever having read the body.
  signal.addEventListener("abort", close, { once: true });
  try {
    const { statusCode, headers, body } = await request(call.url, {
      dispatcher,
      method: "GET",
      headers: { ...call.headers, ...credentials.headers },
      signal,
      // Silence is judged by the reader, who knows what it means.
      bodyTimeout: 0,
    });
    onRequest?.("GET", String(statusCode));
    return { status: statusCode, headers: flatHeaders(headers), body, close };
  } catch (error) {
    onRequest?.("GET", "<error>");
    close();
    throw error;
  }
}

async function* closing(
  { body, close }: OpenedStream,
  signal: AbortSignal,
  stop: () => void,
): AsyncGenerator<Uint8Array> {
  try {
    yield* rethrowing(body, signal);
  } finally {
    stop();
    close();
  }
}
