/** An address of the API server at which watches cannot begin with a list, as in Kubernetes 1.33. */
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";
import type { ControlPlane } from "../../cluster/control-plane.ts";

const refusal = JSON.stringify({
  kind: "Status",
  apiVersion: "v1",
  status: "Failure",
  reason: "Invalid",
  message: "sendInitialEvents: Forbidden: forbidden for watch unless the WatchList feature is on",
  code: 422,
});

export interface OlderServer {
  /** The same user, by way of this server. */
  kubeconfigFrom(file: string): string;
  close(): void;
}

export async function startOlderServer({ url, caFile }: ControlPlane): Promise<OlderServer> {
  const ca = readFileSync(caFile);
  const server = createServer((incoming, answer) => {
    if (incoming.url?.includes("sendInitialEvents=true")) {
      answer.writeHead(422, { "content-type": "application/json" }).end(refusal);
      return;
    }
    const { method, headers } = incoming;
    const forwarded = request(
      new URL(incoming.url ?? "/", url),
      { method, headers, ca },
      (real) => {
        answer.writeHead(real.statusCode ?? 502, real.headers);
        answer.flushHeaders();
        real.pipe(answer);
      },
    );
    forwarded.on("error", () => answer.destroy());
    answer.on("close", () => forwarded.destroy());
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    kubeconfigFrom(file) {
      const other = `${file}.older`;
      const address = `server: http://127.0.0.1:${port}`;
      const text = readFileSync(file, "utf8")
        .replace(/server: .*/, address)
        .replace(/certificate-authority-data: .*/, "insecure-skip-tls-verify: true");
      writeFileSync(other, text, { mode: 0o600 });
      return other;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
