/** HTTP and TCP servers on loopback for one test; they close when the test ends. */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";
import { onTestFinished } from "vitest";

export interface LocalServer {
  /** Path and query of each request so far. */
  readonly requests: readonly string[];
  readonly url: string;
  openSockets(): number;
  /** How many connections it has accepted so far. */
  connections(): number;
}

export async function startWeb(listener: RequestListener): Promise<LocalServer> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? "");
    listener(request, response);
  });
  const { port, ...sockets } = await listen(server);
  return { url: `http://127.0.0.1:${port}`, requests, ...sockets };
}

export async function listen(server: Server) {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on("connection", (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { port, openSockets: () => sockets.size, connections: () => connections };
}

/** Takes the request and never answers. */
export const silence: RequestListener = () => undefined;

/** Begins an answer that never ends. */
export const drip: RequestListener = (_, response) => {
  response.writeHead(200);
  const timer = setInterval(() => response.write("x"), 20);
  response.on("close", () => clearInterval(timer));
};
