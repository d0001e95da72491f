/** A TCP relay that can turn into a black hole: connections stay open, nothing passes, nothing is refused. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface TcpProxy {
  readonly port: number;
  /** Swallows everything from now on, on old and new connections. */
  swallow(): void;
  /** Serves new connections again. The swallowed ones stay dead, as after a change of routes. */
  heal(): void;
  close(): Promise<void>;
}

export async function startTcpProxy(target: URL): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => sockets.delete(socket));
  };
  let isHole = false;
  const server = createServer((client) => {
    keep(client);
    if (isHole) return void client.pause();
    const upstream = connect(Number(target.port), target.hostname);
    keep(upstream);
    client.pipe(upstream).pipe(client);
    client.once("close", () => upstream.destroy());
    upstream.once("close", () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  return {
    port: (server.address() as AddressInfo).port,
    swallow() {
      isHole = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    heal() {
      isHole = false;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
