/** Any Pod that reaches the probe port opens as many connections as it likes, and says little or nothing on them. */
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { type HttpServer, probePages, serve } from "../../src/observability/http-server.ts";
import { systemClock } from "../../src/util/time.ts";

const CONNECTIONS = 10_000;
const PROBES = 10;
/** What the kubelet is told to wait, in the chart. */
const PROBE_TIMEOUT_MS = 5_000;

async function start(): Promise<HttpServer> {
  const pages = probePages({ live: { queues: () => undefined }, ready: {} });
  const server = await serve({ host: "127.0.0.1", port: 0, pages, clock: systemClock });
  onTestFinished(() => server.close());
  return server;
}

/** Every other one begins a request and never ends it. */
async function crowd(port: number): Promise<void> {
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  const connected = Array.from({ length: CONNECTIONS }, (_, n) => {
    const socket = connect(port, "127.0.0.1").resume();
    sockets.push(socket.on("error", () => undefined));
    return new Promise<void>((resolve) => {
      socket.once("close", resolve).once("connect", () => {
        if (n % 2 === 0) socket.write("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ");
        resolve();
      });
    });
  });
  await Promise.all(connected);
}

async function probe(port: number): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/healthz`, {
    headers: { connection: "close" },
    signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
  });
  return response.status;
}

test("probes are answered while somebody holds 10,000 connections to their port", {
  timeout: 60_000,
}, async () => {
  const { port } = await start();
  await crowd(port);
  const answers: number[] = [];
  for (let n = 0; n < PROBES; n += 1) answers.push(await probe(port));
  expect(answers).toEqual(Array(PROBES).fill(200));
});

test("probes are answered while the 10,000 connections are being opened", {
  timeout: 60_000,
}, async () => {
  const { port } = await start();
  const crowded = crowd(port);
  expect(await Promise.all([probe(port), probe(port), probe(port)])).toEqual([200, 200, 200]);
  await crowded;
});
