/** A thread whose clients, from a few addresses, open one TLS connection after the other, with forged tokens or saying nothing. */
import { request } from "node:https";
import { parentPort, workerData } from "node:worker_threads";

const { port, clients, sources } = workerData as { port: number; clients: number; sources: number };

function ask(n: number, turn: number): Promise<void> {
  return new Promise((resolve) => {
    request({
      host: "127.0.0.1",
      localAddress: `127.0.1.${1 + (n % sources)}`,
      port,
      path: "/metrics",
      agent: false,
      rejectUnauthorized: false,
      timeout: 5_000,
      headers: { authorization: `Bearer forged-${n}-${turn}` },
    })
      .on("response", (response) => response.resume())
      .on("timeout", function (this: { destroy(): void }) {
        this.destroy();
      })
      .on("error", () => undefined)
      .once("close", () => resolve())
      .end();
  });
}

async function keepAsking(n: number): Promise<void> {
  for (let turn = 0; ; turn += 1) await ask(n, turn);
}

for (let n = 0; n < clients; n += 1) void keepAsking(n);
parentPort?.postMessage("asking");
