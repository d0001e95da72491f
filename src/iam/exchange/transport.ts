import { getCACertificates } from "node:tls";
import { Agent } from "undici";
import { HttpError, type HttpRequest, type HttpResponse, type SendHttp } from "../../http/http.ts";
import { PendingAnswer } from "../../http/pending-answer.ts";
import type { Clock } from "../../util/time.ts";

export interface TransportOptions {
  /** The only origin that is ever sent anything. */
  readonly origin: string;
  /** PEM certificates to trust besides the system's. */
  readonly caBundle?: string;
  readonly connections: number;
  readonly clock: Clock;
}

export interface Transport {
  readonly send: SendHttp;
  /** Ends every connection and request. */
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_MS = 60_000;
const MAX_HEADER_BYTES = 32 * 1_024;

/**
 * HTTP/1.1 over pooled connections to one origin. One request is one attempt: no retries, no redirects.
 *
 * A POST gets a connection of its own, used once: a pooled one that the console closes at that moment
 * would leave it open whether a service account or key was created.
 */
export function createTransport(options: TransportOptions): Transport {
  const pooled = createAgent(options, 1);
  const single = createAgent(options, 0);
  return {
    send: (request) => send(request.method === "POST" ? single : pooled, request, options),
    close: async () => {
      await Promise.all([pooled.destroy(), single.destroy()]);
    },
  };
}

function createAgent({ connections, caBundle }: TransportOptions, pipelining: 0 | 1): Agent {
  return new Agent({
    allowH2: false,
    connections,
    pipelining,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // The total deadline of each request covers both.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: MAX_HEADER_BYTES,
    autoSelectFamily: true,
    connect: {
      timeout: CONNECT_TIMEOUT_MS,
      keepAliveInitialDelay: 30_000,
      // An explicit `ca` replaces the root store, so it has to hold that too.
      ...(caBundle === undefined ? {} : { ca: [...getCACertificates("default"), caBundle] }),
    },
  });
}

async function send(
  agent: Agent,
  request: HttpRequest,
  { origin, clock }: TransportOptions,
): Promise<HttpResponse> {
  const url = new URL(request.url);
  if (url.origin !== origin) throw new HttpError("refused", "the URL is of another origin");
  const { signal, timeoutMs } = request;
  if (signal?.aborted === true) throw new HttpError("refused", "the call was cancelled");
  const pending = new PendingAnswer(request.maxBytes, request.beforeSending);
  const cancel = () => pending.abandon("aborted", "the call was cancelled");
  const stopTimer = clock.setTimer(timeoutMs, () =>
    pending.abandon("timeout", `no answer within ${timeoutMs} ms`),
  );
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    dispatch(agent, url, request, pending);
    return await pending.answer;
  } finally {
    stopTimer();
    signal?.removeEventListener("abort", cancel);
  }
}

function dispatch(agent: Agent, url: URL, request: HttpRequest, pending: PendingAnswer): void {
  const { method, headers, body } = request;
  try {
    agent.dispatch(
      {
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method,
        headers,
        body: body ?? null,
      },
      pending,
    );
  } catch {
    pending.abandon("network", "the request is not one that HTTP can carry");
  }
}
