/** Any Pod that reaches the metrics port can have TLS handshakes made and forged tokens judged, as fast as it likes. */
import { once } from "node:events";
import { request } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { expect, onTestFinished, test } from "vitest";
import {
  type Guard,
  metricsPages,
  probePages,
  serve,
} from "../../src/observability/http-server.ts";
import { createScrapeGuard } from "../../src/observability/scrape-guard.ts";
import { selfSigned } from "../../src/observability/self-signed.ts";
import { MINUTE, systemClock } from "../../src/util/time.ts";

const CLIENTS = 200;
/** On an idle machine. */
const BOUND_MS = 1_000;
/** What the same requests took just before the crowd came shows how busy the machine is with other tests. */
const TIMES_BEFORE = 20;

async function start() {
  const judge = createScrapeGuard({
    clock: systemClock,
    review: async (token) => {
      await sleep(20);
      return token === "good" ? "Allowed" : "Unauthenticated";
    },
  });
  const seen = { forged: 0 };
  const guard: Guard = (authorization) => {
    if (authorization?.includes("forged")) seen.forged += 1;
    return judge(authorization);
  };
  const at = { host: "127.0.0.1", port: 0, clock: systemClock };
  const pages = metricsPages(async () => [Buffer.from("up 1\n".repeat(10_000))], "text/plain");
  const metrics = await serve({ ...at, pages, guard, certificate: selfSigned(systemClock.now()) });
  const probes = await serve({ ...at, pages: probePages({ live: {}, ready: {} }) });
  onTestFinished(() => Promise.all([metrics.close(), probes.close()]).then(() => undefined));
  return { metrics, probes, seen };
}

async function crowd(port: number, sources: number): Promise<void> {
  const workerData = { port, clients: CLIENTS, sources };
  const worker = new Worker(new URL("support/scrape-crowd.ts", import.meta.url), { workerData });
  onTestFinished(() => worker.terminate().then(() => undefined));
  await once(worker, "message");
}

/** One scrape over a connection of its own. */
function scrape(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    request({
      host: "127.0.0.1",
      port,
      path: "/metrics",
      agent: false,
      rejectUnauthorized: false,
      headers: { authorization: "Bearer good" },
    })
      .on("response", (response) =>
        response.resume().once("end", () => resolve(response.statusCode)),
      )
      .on("error", () => resolve(undefined))
      .end();
  });
}

const probe = (port: number) =>
  fetch(`http://127.0.0.1:${port}/healthz`, { headers: { connection: "close" } }).then(
    ({ status }) => status,
    () => undefined,
  );

async function timed(work: () => Promise<number | undefined>) {
  const since = performance.now();
  const status = await work();
  return { status, ms: performance.now() - since };
}

/** One of ten is left out: the crowd itself, and other tests, use the same cores. */
function p90Of(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.9) - 1] ?? Number.POSITIVE_INFINITY;
}

async function measured(metricsPort: number, probesPort: number) {
  const took: { readonly scrapes: number[]; readonly probes: number[] } = {
    scrapes: [],
    probes: [],
  };
  for (let turn = 0; turn < 20; turn += 1) {
    const [first, second] = await Promise.all([
      timed(() => scrape(metricsPort)),
      timed(() => probe(probesPort)),
    ]);
    expect([first.status, second.status]).toEqual([200, 200]);
    took.scrapes.push(first.ms);
    took.probes.push(second.ms);
    await sleep(50);
  }
  return { scrapes: p90Of(took.scrapes), probes: p90Of(took.probes) };
}

test.each([1, 40])(
  "scrapes and probes are answered soon beside 200 clients of %i addresses",
  { timeout: 2 * MINUTE },
  async (sources) => {
    const { metrics, probes, seen } = await start();
    const ports = [metrics.port, probes.port] as const;
    const calm = await measured(...ports);
    await crowd(metrics.port, sources);
    await sleep(1_000);
    const since = performance.now();
    const before = seen.forged;
    const p90 = await measured(...ports);
    const perSecond = ((seen.forged - before) * 1_000) / (performance.now() - since);
    console.log(sources, "addresses, p90 in ms:", p90, "before:", calm, "handshakes:", perSecond);
    expect(p90.scrapes).toBeLessThan(BOUND_MS + TIMES_BEFORE * calm.scrapes);
    expect(p90.probes).toBeLessThan(BOUND_MS + TIMES_BEFORE * calm.probes);
    expect(perSecond).toBeLessThan(45);
  },
);
