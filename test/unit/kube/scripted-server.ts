/** An HTTP server that answers watches and lists as a test's script says, over real sockets. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { KubeEndpoint } from "../../../src/kube/config/credentials.ts";

export type Script = (response: ServerResponse, request: IncomingMessage) => void;

export interface ScriptedServer {
  readonly url: string;
  readonly endpoint: KubeEndpoint;
  /** `watch` or `list` with what matters of the query. */
  readonly requests: string[];
  /** One script for each watch in turn; the last one stays. */
  onWatch(...scripts: Script[]): void;
  /** The same for everything else. */
  onList(...scripts: Script[]): void;
  openSockets(): number;
  stop(): Promise<void>;
}

export async function startScriptedServer(): Promise<ScriptedServer> {
  const requests: string[] = [];
  let watches: Script[] = [silence];
  let lists: Script[] = [respond(listOf("1"))];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? "/", "http://server").searchParams;
    requests.push(describe(query));
    const scripts = query.has("watch") ? watches : lists;
    const script = scripts.length > 1 ? scripts.shift() : scripts[0];
    script?.(response, request);
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    endpoint: endpointAt(url),
    requests,
    onWatch: (...scripts) => {
      watches = scripts;
    },
    onList: (...scripts) => {
      lists = scripts;
    },
    openSockets: () => sockets.size,
    async stop() {
      server.close();
      server.closeAllConnections();
      await Promise.resolve();
    },
  };
}

export function endpointAt(server: string): KubeEndpoint {
  const credentials = { tls: { insecure: false }, headers: {} };
  return {
    server,
    proxyUrl: undefined,
    namespace: undefined,
    credentials: () => Promise.resolve(credentials),
  };
}

function describe(query: URLSearchParams): string {
  if (!query.has("watch")) {
    const token = query.get("continue");
    return query.get("limit") === "1" ? "check" : `list${token === null ? "" : ` ${token}`}`;
  }
  return query.has("sendInitialEvents") ? "watch all" : `watch ${query.get("resourceVersion")}`;
}

export interface Item {
  readonly name: string;
  readonly version: string;
  readonly uid?: string;
}

export function objectOf({ name, version, uid = `uid-${name}` }: Item) {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: "ns", uid, resourceVersion: version },
  };
}

export function listOf(version: string, items: readonly Item[] = [], token?: string) {
  return {
    kind: "ConfigMapList",
    metadata: { resourceVersion: version, ...(token === undefined ? {} : { continue: token }) },
    items: items.map(objectOf),
  };
}

export function event(type: string, name: string, version: string, uid?: string): string {
  const object = objectOf({ name, version, ...(uid === undefined ? {} : { uid }) });
  return `${JSON.stringify({ type, object })}\n`;
}

export function bookmark(version: string, endsInitial = false): string {
  const annotations = endsInitial ? { "k8s.io/initial-events-end": "true" } : {};
  const object = { kind: "ConfigMap", metadata: { resourceVersion: version, annotations } };
  return `${JSON.stringify({ type: "BOOKMARK", object })}\n`;
}

export function statusOf(code: number, reason: string, message = reason) {
  return { kind: "Status", status: "Failure", code, reason, message };
}

export function errorEvent(code: number, reason: string): string {
  return `${JSON.stringify({ type: "ERROR", object: statusOf(code, reason) })}\n`;
}

/** Takes the request and never answers. */
export const silence: Script = () => undefined;

/** Sends the lines and leaves the stream open. */
export function stream(...lines: readonly string[]): Script {
  return (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    for (const line of lines) response.write(line);
  };
}

/** Sends the lines and ends the stream in good order. */
export function streamAndEnd(...lines: readonly string[]): Script {
  return (response) => {
    response.writeHead(200);
    response.end(lines.join(""));
  };
}

/** Sends the lines and cuts the connection. */
export function streamAndReset(...lines: readonly string[]): Script {
  return (response, request) => {
    stream(...lines)(response, request);
    setTimeout(() => request.socket.resetAndDestroy(), 20);
  };
}

export function respond(
  body: object | string,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Script {
  return (response) => {
    response.writeHead(status, headers);
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
}

export function refuse(code: number, reason: string, headers?: Record<string, string>): Script {
  return respond(statusOf(code, reason), code, headers);
}
