/**
 * Runs the operator for two seconds without any API server, so that V8's compile cache holds what a start needs.
 * usage: node warm-up.mjs PROGRAM
 */
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const kubeconfig = join(tmpdir(), "warm-up.kubeconfig");
// Port 1 refuses connections.
const cluster = { server: "https://127.0.0.1:1" };
writeFileSync(
  kubeconfig,
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "none", cluster }],
    users: [{ name: "nobody", user: { token: "none" } }],
    contexts: [{ name: "none", context: { cluster: "none", user: "nobody" } }],
    "current-context": "none",
  }),
);
const off = ["--metrics-address=127.0.0.1:0", "--probe-address=127.0.0.1:0"];
process.argv = [process.execPath, process.argv[2], `--kubeconfig=${kubeconfig}`, ...off];
setTimeout(() => process.kill(process.pid, "SIGTERM"), 2_000);
await import(process.argv[1]);
