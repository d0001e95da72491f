import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/** Below the range from which Linux takes ports for outgoing connections, above the well-known. */
const lowest = 20_000;
const perWorker = 2_000;
const workers = 6;

/**
 * Different loopback ports that nobody listens on right now. The workers of a test run, and the
 * programs beside them, have ranges of their own, so that none takes a port that another has chosen.
 *
 * *Caveat*: another program may take one before it is used. Outgoing connections cannot, which
 * matters while a server is down for a restart.
 */
export async function freePorts(count: number): Promise<readonly number[]> {
  // The runner numbers its workers from 1; whatever runs without it has the first range.
  const worker = Number(process.env["VITEST_POOL_ID"] ?? 0) % workers;
  const first = lowest + worker * perWorker;
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(first, first + perWorker);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host: "127.0.0.1" }, () => server.close(() => resolve(true)));
  });
}
