/**
 * HTTP to the API server: undici over HTTP/1.1 with connection pools, deadlines and bounded bodies.
 *
 * HTTP/1.1 on purpose: with HTTP/2, an aborted request leaves its session open, so on a dead connection every later
 * request fails too, including watches.
 */
import type { Dispatcher } from "undici";
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
import { sendOnce } from "../../http/send-once.ts";
import type { Clock } from "../../util/time.ts";
import type { KubeCredentials, KubeEndpoint } from "../config/credentials.ts";
import { createDispatcher } from "./dispatcher.ts";
import { RenewingPool } from "./renewing-pool.ts";
import { bodyOf, type OpenedStream, openOnce } from "./stream.ts";

interface KubeTransportOptions {
  readonly endpoint: KubeEndpoint;
  readonly clock: Clock;
  /** Called once for every request; `code` is the status, or "<error>" if there was no answer. */
  readonly onRequest?: (method: string, code: string) => void;
  /** Number of pooled connections for calls. */
  readonly connections?: number;
}

export interface KubeTransport {
  readonly send: SendHttp;
  /** Like `send`, but with separate connections, so that renewing the lease never waits for other calls. */
  readonly sendLease: SendHttp;
  readonly openStream: OpenStream;
  /** Waits a short time for running calls, then closes everything. */
  close(): Promise<void>;
}

const CONNECTIONS = 16;
const LEASE_CONNECTIONS = 2;

export function createKubeTransport(options: KubeTransportOptions): KubeTransport {
  const { endpoint, clock, connections = CONNECTIONS } = options;
  const calls = new RenewingPool(endpoint, clock, connections);
  const leases = new RenewingPool(endpoint, clock, LEASE_CONNECTIONS);
  const streams = new Set<Dispatcher>();
  return {
    send: (call) => send(options, calls, call),
    sendLease: (call) => send(options, leases, call),
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

async function send(
  options: KubeTransportOptions,
  pool: RenewingPool,
  call: HttpRequest,
): Promise<HttpResponse> {
  const { signal, race, stop } = startDeadline(options.clock, call.timeoutMs, call.signal);
  const attempt = (credentials: KubeCredentials) =>
    observed(options, call.method, () => {
      const headers = { ...call.headers, ...credentials.headers };
      return sendOnce(pool.get(credentials), { ...call, headers }, signal);
    });
  return race(authenticated(options, attempt)).finally(stop);
}

/** Reports the outcome of an attempt to the observer. */
async function observed<R extends { readonly status: number }>(
  { onRequest }: KubeTransportOptions,
  method: HttpRequest["method"],
  attempt: () => Promise<R>,
): Promise<R> {
  try {
    const answer = await attempt();
    onRequest?.(method, String(answer.status));
    return answer;
  } catch (error) {
    onRequest?.(method, "<error>");
    throw error;
  }
}

/**
 * Sends with the current credentials; after a 401, reads the credentials again and sends once more. A refused request
 * was not executed, so this is safe for writes too. Both attempts share the call's deadline.
 */
async function authenticated<R extends { readonly status: number }>(
  { endpoint }: KubeTransportOptions,
  attempt: (credentials: KubeCredentials) => Promise<R>,
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

/** A plugin's error text may contain anything, so only the error's name is used. */
function withoutCredentials(error: unknown): never {
  const name = error instanceof Error ? error.name : "unknown";
  throw new HttpError("refused", `no credentials (${name})`);
}

async function openStream(
  options: KubeTransportOptions,
  streams: Set<Dispatcher>,
  call: StreamRequest,
): Promise<StreamResponse> {
  const deadline = startDeadline(options.clock, call.headTimeoutMs, call.signal);
  const attempt = (credentials: KubeCredentials): Promise<OpenedStream> =>
    observed(options, "GET", () => {
      const headers = { ...call.headers, ...credentials.headers };
      const dispatcher = createDispatcher(options.endpoint, credentials.tls, 1);
      streams.add(dispatcher);
      const onClose = () => {
        streams.delete(dispatcher);
      };
      return openOnce(dispatcher, { ...call, headers }, deadline.signal, onClose);
    });
  try {
    const opened = await deadline.race(authenticated(options, attempt, ({ close }) => close()));
    // From here on, only the caller's signal applies.
    deadline.cancelTimer();
    return { status: opened.status, headers: opened.headers, body: bodyOf(opened, deadline) };
  } catch (error) {
    deadline.stop();
    throw error;
  }
}
