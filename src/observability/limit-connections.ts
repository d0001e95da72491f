import type { Server } from "node:http";
import type { Server as SecureServer } from "node:https";
import type { Socket } from "node:net";

/**
 * Closes the connection that has been idle for longest whenever there are more than `most`, so that those who hold
 * many cannot keep others out. A request and its answer count as activity.
 */
export function limitConnections(server: Server | SecureServer, most: number): void {
  /** The one that has been idle for longest comes first. */
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

/** The same for a connection and for the TLS session on it. */
function idOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
