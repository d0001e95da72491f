import type { Server } from "node:http";
import type { Server as SecureServer } from "node:https";
import type { Socket } from "node:net";

/**
 * Closes the longest idle connection whenever there are more than `most`, so that a client with many connections cannot
 * keep other clients out. Requests and responses count as activity.
 */
export function limitConnections(server: Server | SecureServer, most: number): void {
  /** The longest idle connection comes first. */
  const connections = new Map<string, Socket>();

  const touch = (id: string) => {
    const socket = connections.get(id);
    if (socket === undefined) return;
    connections.delete(id);
    connections.set(id, socket);
  };

  server.on("connection", (socket: Socket) => {
    const id = idOf(socket);
    connections.set(id, socket);
    socket.once("close", () => {
      if (connections.get(id) === socket) connections.delete(id);
    });
    const [oldest] = connections.values();
    if (connections.size > most) oldest?.destroy();
  });
  server.on("request", (request, response) => {
    const id = idOf(request.socket);
    touch(id);
    response.once("close", () => touch(id));
  });
}

/** A connection and its TLS session have the same ID. */
function idOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
