/** An HTTP proxy on loopback that makes tunnels, and remembers for whom. */
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";

export interface ConnectProxy extends AsyncDisposable {
  readonly url: string;
  /** What it was asked to connect to. */
  readonly asked: string[];
  /** The Proxy-Authorization of each. */
  readonly credentials: (string | undefined)[];
}

/** Answers every CONNECT with `status`; with 200 it makes the tunnel, to `target` whatever was asked for. */
export async function startConnectProxy({
  status = 200,
  target,
}: {
  readonly status?: number;
  readonly target?: { readonly host: string; readonly port: number };
} = {}): Promise<ConnectProxy> {
  const asked: string[] = [];
  const credentials: (string | undefined)[] = [];
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
  };
  const server = createServer((_, response) => response.writeHead(405).end());
  server.on("connection", keep);
  server.on("connect", (request: IncomingMessage, client: Socket) => {
    const { url = "", headers } = request;
    asked.push(url);
    credentials.push(headers["proxy-authorization"]);
    if (status !== 200) {
      client.end(`HTTP/1.1 ${status} No\r\n\r\n`);
      return;
    }
    const { hostname, port } = new URL(`tunnel://${url}`);
    const upstream = connect(target ?? { host: hostname, port: Number(port) }, () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      client.pipe(upstream).pipe(client);
    });
    keep(upstream);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    credentials,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
