/** Any Pod that reaches the probe port opens as many connections as it likes, and says little or nothing on them. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import { type HttpServer, probePages, serve } from "../../src/observability/http-server.ts";
import { systemClock } from "../../src/util/time.ts";

const CONNECTIONS = 10_000;
/** As in the chart: so long the kubelet waits, and so many failures in a row restart the Pod. */
const PROBE_TIMEOUT_MS = 5_000;
const FAILURE_THRESHOLD = 3;

async function start(): Promise<HttpServer> {
  const pages = probePages({ live: { queues: () => undefined }, ready: {} });
  const server = await serve({ host: "127.0.0.1", port: 0, pages, clock: systemClock });
  onTestFinished(() => server.close());
  return server;
}

function crowd(port: number): Worker {
  const workerData = { port, connections: CONNECTIONS };
  const worker = new Worker(new URL("support/crowd.ts", import.meta.url), { workerData });
  onTestFinished(() => worker.terminate().then(() => undefined));
  return worker;
}

async function probe(port: number): Promise<boolean> {
  const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS);
  const headers = { connection: "close" };
  return fetch(`http://127.0.0.1:${port}/healthz`, { headers, signal }).then(
    ({ ok }) => ok,
    () => false,
  );
}

/** How many probes failed in a row at most, while `isOver` is false, and ten more. */
async function mostFailures(port: number, isOver: () => boolean): Promise<number> {
  let inRow = 0;
  let most = 0;
  for (let left = 10; left > 0; left -= isOver() ? 1 : 0) {
    inRow = (await probe(port)) ? 0 : inRow + 1;
    most = Math.max(most, inRow);
  }
  return most;
}

test("the kubelet gets its answers while somebody opens and holds 10,000 connections", {
  timeout: 120_000,
}, async () => {
  const { port } = await start();
  let isOpen = false;
  void once(crowd(port), "message").then(() => {
    isOpen = true;
  });
  expect(await mostFailures(port, () => isOpen)).toBeLessThan(FAILURE_THRESHOLD);
});
