/** Runs the program of an image, from the image's own files, and looks at its clock and its memory. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ControlPlane } from "../../test/cluster/control-plane.ts";
import { run } from "./run.ts";

const starts = 7;
const settleMs = 15_000;

/** Runs the image's entry point below `folder` as its user would: no root, and a /proc of its own. */
function startIn(folder: string, args: readonly string[]): ChildProcess {
  mkdirSync(join(folder, "proc"), { recursive: true });
  const script = 'mount -t proc proc "$1/proc"; shift; exec "$@"';
  const chroot = ["chroot", "--userspec=65532:65532", folder];
  const program = ["/usr/local/bin/node", "/app/iam-operator.mjs", ...args];
  const command = ["--mount", "sh", "-euc", script, "sh", folder, ...chroot, ...program];
  return spawn("unshare", command, {
    stdio: "ignore",
    // What the image and the chart set.
    env: {
      NODE_ENV: "production",
      NODE_COMPILE_CACHE: "/app/compile-cache",
      NODE_OPTIONS: "--max-old-space-size=192",
    },
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

/** Milliseconds from the start of the process to its first call of the API server: the median of some starts. */
export async function startUp(folder: string): Promise<number> {
  let onCall: () => void = () => undefined;
  const server = createServer((_, response) => {
    onCall();
    response.writeHead(503).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const kubeconfig = join(folder, "tmp/start.kubeconfig");
  writeFileSync(kubeconfig, kubeconfigOf(`http://127.0.0.1:${port}`), { mode: 0o644 });
  const times: number[] = [];
  for (let turn = 0; turn < starts; turn += 1) {
    const called = new Promise<void>((resolve) => {
      onCall = resolve;
    });
    const from = performance.now();
    const child = startIn(folder, argsFor("/tmp/start.kubeconfig"));
    await Promise.race([called, failsAfter(child, 20_000)]);
    times.push(performance.now() - from);
    await end(child);
  }
  server.close();
  rmSync(kubeconfig);
  return times.sort((a, b) => a - b)[Math.floor(starts / 2)] ?? Number.NaN;
}

/** Bytes that the program holds when it has had nothing to do for a while, beside a real API server. */
export async function idleMemory(folder: string, cluster: ControlPlane): Promise<number> {
  const kubeconfig = join(folder, "tmp/idle.kubeconfig");
  writeFileSync(kubeconfig, readFileSync(cluster.kubeconfig), { mode: 0o644 });
  const child = startIn(folder, argsFor("/tmp/idle.kubeconfig"));
  try {
    await Promise.race([sleep(settleMs), failsAfter(child, 2 * settleMs)]);
    return residentBytes(child.pid ?? 0);
  } finally {
    await end(child);
    rmSync(kubeconfig);
  }
}

export async function installRights(cluster: ControlPlane, folder: string): Promise<void> {
  const { kubectl, kubeconfig } = cluster;
  const ask = (...args: readonly string[]) => run(kubectl, ["--kubeconfig", kubeconfig, ...args]);
  await ask("apply", "--server-side", "-f", join(folder, "crds"));
  await ask("create", "namespace", "iam-operator-system");
}

function residentBytes(pid: number): number {
  const line = /^VmRSS:\s+([0-9]+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(line?.[1]) * 1024;
}

function argsFor(kubeconfig: string): readonly string[] {
  const anyPort = ["--metrics-address=127.0.0.1:0", "--probe-address=127.0.0.1:0"];
  return [`--kubeconfig=${kubeconfig}`, ...anyPort];
}

async function failsAfter(child: ChildProcess, ms: number): Promise<never> {
  const ended = once(child, "exit").then(([code]) => `ended with ${code}`);
  const late = sleep(ms, "did not call", { ref: false });
  throw new Error(`the program ${await Promise.race([ended, late])}`);
}

function kubeconfigOf(server: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server, "insecure-skip-tls-verify": true } }],
    users: [{ name: "u", user: { token: "none" } }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    "current-context": "c",
  });
}
