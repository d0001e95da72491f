/** A thread that opens connections and keeps them; every other one begins a request and never ends it. */
import { connect } from "node:net";
import { parentPort, workerData } from "node:worker_threads";

const { port, connections } = workerData as { port: number; connections: number };
/** Fewer than the kernel keeps for a server that has not accepted them yet. */
const AT_ONCE = 250;

async function open(n: number): Promise<void> {
  const socket = connect(port, "127.0.0.1").resume();
  socket.on("error", () => undefined);
  await new Promise<void>((resolve) => {
    socket.once("close", resolve).once("connect", resolve);
  });
  if (n % 2 === 0) socket.write("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ");
}

for (let opened = 0; opened < connections; opened += AT_ONCE)
  await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => open(n)));
parentPort?.postMessage("open");
