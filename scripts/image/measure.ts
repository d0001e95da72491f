/** Runs the program of an image as a Pod would, from the image's own files, and looks at its clock and memory. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ControlPlane } from "../../test/cluster/control-plane.ts";
import { run } from "./execute.ts";

const starts = 9;
const settleMs = 20_000;
const tickMs = 10;

export interface StartUp {
  /** From the start of the process to its first connection to the API server: the median of some starts. */
  readonly startUpMs: number;
  /** The processor's share of it, which other programs on the machine do not lengthen. */
  readonly startUpCpuMs: number;
}

export interface Memory {
  /** After a while with nothing to do. */
  readonly idleMegabytes: number;
  /** Without what is mapped from files, most of it Node's own program. */
  readonly idlePrivateMegabytes: number;
}

/** Makes the image's files in `folder` look like a Pod's: its account's token, and /proc. */
export async function preparePod(folder: string, cluster: ControlPlane): Promise<void> {
  const { kubectl, kubeconfig } = cluster;
  const ask = (...args: readonly string[]) => run(kubectl, ["--kubeconfig", kubeconfig, ...args]);
  await ask("apply", "--server-side", "-f", join(import.meta.dirname, "../../crds"));
  await ask("create", "namespace", "iam-operator-system");
  const account = join(folder, "var/run/secrets/kubernetes.io/serviceaccount");
  mkdirSync(account, { recursive: true });
  const token = /^ *token: (.*)$/m.exec(readFileSync(kubeconfig, "utf8"))?.[1] ?? "";
  writeFileSync(join(account, "token"), token);
  writeFileSync(join(account, "namespace"), "iam-operator-system");
  copyFileSync(cluster.caFile, join(account, "ca.crt"));
  mkdirSync(join(folder, "proc"), { recursive: true });
}

export async function measureStartUp(folder: string): Promise<StartUp> {
  let onCall: () => void = () => undefined;
  const server = createServer((socket) => {
    onCall();
    socket.destroy();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const times: number[] = [];
  const cpuTimes: number[] = [];
  for (let turn = 0; turn < starts; turn += 1) {
    const called = new Promise<void>((resolve) => {
      onCall = resolve;
    });
    const from = performance.now();
    const child = startIn(folder, port);
    try {
      await Promise.race([called, failsAfter(child, 20_000)]);
      times.push(performance.now() - from);
      cpuTimes.push(cpuMsOf(child.pid ?? 0));
    } finally {
      await end(child);
    }
  }
  server.close();
  return { startUpMs: median(times), startUpCpuMs: median(cpuTimes) };
}

export async function measureMemory(folder: string, cluster: ControlPlane): Promise<Memory> {
  const child = startIn(folder, Number(new URL(cluster.url).port));
  try {
    await Promise.race([sleep(settleMs), failsAfter(child, 2 * settleMs)]);
    const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
    const megabytes = (name: string) =>
      (Number(new RegExp(`^${name}:\\s+([0-9]+) kB$`, "m").exec(status)?.[1]) * 1024) / 1e6;
    return { idleMegabytes: megabytes("VmRSS"), idlePrivateMegabytes: megabytes("RssAnon") };
  } finally {
    await end(child);
  }
}

/** Runs the image's entry point below `folder` with its user and the environment of image and chart. */
function startIn(folder: string, port: number): ChildProcess {
  const script = 'mount -t proc proc "$1/proc"; shift; exec "$@"';
  const chroot = ["chroot", "--userspec=65532:65532", folder];
  const anyPort = ["--metrics-address=127.0.0.1:0", "--probe-address=127.0.0.1:0"];
  const program = [...entryPoint(), ...anyPort];
  const command = ["--mount", "sh", "-euc", script, "sh", folder, ...chroot, ...program];
  return spawn("unshare", command, {
    stdio: "ignore",
    env: {
      PATH: "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      NODE_ENV: "production",
      NODE_COMPILE_CACHE: "/app/compile-cache",
      NODE_OPTIONS: "--max-old-space-size=192",
      KUBERNETES_SERVICE_HOST: "127.0.0.1",
      KUBERNETES_SERVICE_PORT: `${port}`,
    },
  });
}

/** As the Dockerfile has it. */
function entryPoint(): readonly string[] {
  const dockerfile = readFileSync(join(import.meta.dirname, "../../Dockerfile"), "utf8");
  const command = /^ENTRYPOINT (\[.*\])$/m.exec(dockerfile)?.[1];
  if (command === undefined) throw new Error("the Dockerfile has no entry point");
  return JSON.parse(command);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

/** User and system time so far. */
function cpuMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}

async function failsAfter(child: ChildProcess, ms: number): Promise<never> {
  const ended = once(child, "exit").then(([code]) => `ended with ${code}`);
  const late = sleep(ms, "did not call", { ref: false });
  throw new Error(`the program ${await Promise.race([ended, late])}`);
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
