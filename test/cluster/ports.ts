import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/** Below the range from which Linux takes ports for outgoing connections, above the well-known. */
const lowest = 20_000;
const highest = 32_000;

/**
 * Different loopback ports that nobody listens on right now.
 *
 * *Caveat*: somebody may take one before it is used, so the user of a port must be ready to try
 * others. Outgoing connections cannot, which matters while a server is down for a restart.
 */
export async function freePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(lowest, highest);
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
