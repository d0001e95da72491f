/** Small HTTP servers for metrics and probes. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Server as SecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { ownEntry } from "../util/own-entry.ts";
import { type Clock, SECOND } from "../util/time.ts";
import { limitConnections } from "./limit-connections.ts";
import { type HandshakeLimit, limitHandshakes } from "./limit-handshakes.ts";

export interface Page {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
  /** Replaces `text`. */
  readonly parts?: readonly Uint8Array[];
}

/** Pages by path. The server answers only GET and HEAD. */
export type Pages = Readonly<Record<string, () => Promise<Page> | Page>>;

export interface Certificate {
  /** PEM, the leaf first. */
  readonly cert: string;
  readonly key: string;
}

/** Returns the page to show instead; `undefined` if the client is authorized. */
export type Guard = (authorization: string | undefined) => Promise<Page | undefined>;

export interface HttpServer {
  /** The bound port, even if port 0 was requested. */
  readonly port: number;
  /** Applies to new connections; requires a certificate in {@link ServeOptions}. */
  setCertificate(certificate: Certificate): void;
  close(): Promise<void>;
}

export interface ServeOptions {
  /** All interfaces by default. */
  readonly host?: string;
  readonly port: number;
  readonly pages: Pages;
  readonly clock: Clock;
  /** With a certificate, the server speaks HTTPS. */
  readonly certificate?: Certificate;
  /** By default, every client can see every page. */
  readonly guard?: Guard;
}

/**
 * More than the kernel hands over at once (511), so that no burst closes the kubelet's connection before the server
 * reads its request.
 */
const MAX_PLAIN = 1_024;
/** Each TLS connection needs several hundred kilobytes. */
const MAX_ENCRYPTED = 64;

/** Resolves when the server listens; rejects if it cannot listen. */
export async function serve(options: ServeOptions): Promise<HttpServer> {
  const { host, port, clock } = options;
  let handshakes: HandshakeLimit | undefined;
  const server = create(options, (source) => handshakes?.trust(source));
  limitConnections(server, options.certificate === undefined ? MAX_PLAIN : MAX_ENCRYPTED);
  if (options.certificate !== undefined)
    handshakes = limitHandshakes(server as SecureServer, clock);
  server.setTimeout(60 * SECOND);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, ...(host === undefined ? {} : { host }) }, resolve);
  });
  server.removeAllListeners("error").on("error", () => undefined);
  return {
    port: (server.address() as AddressInfo).port,
    setCertificate: (certificate) => (server as SecureServer).setSecureContext(certificate),
    close: () => close(server, clock),
  };
}

/** Called with the address of a client that passed the guard and received a page. */
type OnShown = (address: string | undefined) => void;

function create(options: ServeOptions, onShown: OnShown): Server | SecureServer {
  const limits = {
    maxHeaderSize: 8_192,
    headersTimeout: 5 * SECOND,
    requestTimeout: 10 * SECOND,
    keepAliveTimeout: 30 * SECOND,
    connectionsCheckingInterval: 5 * SECOND,
  };
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    answer(options, request, response, onShown).catch(() => response.destroy());
  };
  const { certificate } = options;
  // Importing node:http makes Node load all of its own HTTP clients, to export their names.
  return certificate === undefined
    ? process.getBuiltinModule("node:http").createServer(limits, listener)
    : process
        .getBuiltinModule("node:https")
        .createServer({ ...limits, ...certificate, handshakeTimeout: 5 * SECOND }, listener);
}

/** Serves `render` as `/metrics`. Concurrent scrapes share one rendering, because it blocks the event loop. */
export function metricsPages(
  render: () => Promise<readonly Uint8Array[]>,
  contentType: string,
): Pages {
  let rendering: Promise<readonly Uint8Array[]> | undefined;
  const renderOnce = () => {
    rendering ??= render().finally(() => {
      rendering = undefined;
    });
    return rendering;
  };
  return {
    "/metrics": async () => ({ status: 200, contentType, text: "", parts: await renderOnce() }),
  };
}

/** Returns a reason to fail; `undefined` if the check passes. */
type Check = () => string | undefined;
type Checks = Readonly<Record<string, Check>>;

/** `/healthz` and `/readyz`: 200 if every check passes, otherwise 503 with the reasons. */
export function probePages({ live, ready }: { live: Checks; ready: Checks }): Pages {
  return { "/healthz": () => checkPage(live), "/readyz": () => checkPage(ready) };
}

function checkPage(checks: Checks): Page {
  const results = Object.entries(checks).map(([name, check]) => [name, check()] as const);
  const failed = results.some(([, reason]) => reason !== undefined);
  const lines = results.map(([name, reason]) =>
    reason === undefined ? `[+] ${name} ok` : `[-] ${name} failed: ${reason}`,
  );
  return plain(failed ? 503 : 200, [...lines, failed ? "failed" : "ok"].join("\n"));
}

async function answer(
  options: ServeOptions,
  request: IncomingMessage,
  response: ServerResponse,
  onShown: OnShown,
): Promise<void> {
  // Discards the request's body.
  request.resume();
  const page = await pageFor(options, request);
  const { status, contentType, text, parts = [Buffer.from(text)] } = page;
  if (options.guard !== undefined && status === 200) onShown(request.socket.remoteAddress);
  response.writeHead(status, {
    // Rejected clients have to wait for a handshake before they try again.
    ...(status === 401 || status === 403 ? { connection: "close" } : {}),
    "content-type": contentType,
    "content-length": parts.reduce((sum, { length }) => sum + length, 0),
    "cache-control": "no-store",
  });
  if (request.method !== "HEAD") for (const part of parts) response.write(part);
  response.end();
}

async function pageFor(
  { pages, guard }: ServeOptions,
  { method, url = "/", headers }: IncomingMessage,
): Promise<Page> {
  if (method !== "GET" && method !== "HEAD") return plain(405, "method not allowed");
  try {
    const refusal = await guard?.(headers.authorization);
    if (refusal !== undefined) return refusal;
    const path = url.split("?", 1)[0] ?? "/";
    const page = ownEntry(pages, path);
    return page === undefined ? plain(404, "not found") : await page();
  } catch {
    return plain(500, "internal error");
  }
}

export function plain(status: number, text: string): Page {
  return { status, contentType: "text/plain; charset=utf-8", text: `${text}\n` };
}

/** Closes idle connections at once, and the others when their response ends or after a second. */
function close(server: Server | SecureServer, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.setTimer(SECOND, () => server.closeAllConnections());
    server.close(() => {
      cancel();
      resolve();
    });
    server.closeIdleConnections();
  });
}
