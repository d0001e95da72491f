/** TLS in front of a server without it: on loopback, and noting which certificate each client presents. */
import { type AddressInfo, connect, type Socket } from "node:net";
import { createServer, type TLSSocket } from "node:tls";
import type { Certificate, Pki } from "./openssl-certificate.ts";

export interface TlsFront extends AsyncDisposable {
  readonly url: string;
  /** The common names of the certificates presented so far, one for each connection; `none` where there was none. */
  readonly presented: string[];
  /** Another certificate, and another authority of clients; ends all connections. */
  renew(pki: Pick<Pki, "authority" | "server">): void;
}

/** Without `demanding`, a certificate is asked for, and a connection without one is let in. */
export async function startTlsFront(
  { url }: { readonly url: string },
  pki: Pick<Pki, "authority" | "server">,
  { demanding = true } = {},
): Promise<TlsFront> {
  const { hostname: host, port } = new URL(url);
  const presented: string[] = [];
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
  };
  const asks = { requestCert: true, rejectUnauthorized: demanding };
  const server = createServer({ ...settings(pki), ...asks }, (socket: TLSSocket) => {
    keep(socket);
    presented.push(String(socket.getPeerCertificate().subject?.CN ?? "none"));
    const upstream = connect({ host, port: Number(port) });
    keep(upstream);
    socket.pipe(upstream).pipe(socket);
  });
  server.on("connection", keep);
  const drop = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    presented,
    renew: (next) => {
      server.setSecureContext(settings(next));
      drop();
    },
    [Symbol.asyncDispose]: async () => {
      drop();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function settings({ authority, server }: { authority: Certificate; server: Certificate }) {
  return { key: server.key, cert: server.cert, ca: authority.cert };
}
