import { type ChildProcess, spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { fileURLToPath } from "node:url";
import { PATIENCE_S } from "./patience.ts";

export interface OperatorProcess {
  readonly metricsUrl: string;
  readonly logFile: string;
  readonly pid: number;
  stop(): Promise<void>;
}

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

/** Starts the operator as its users do, and waits until its caches are synced. */
export async function startOperator(options: {
  readonly kubeconfig: string;
  readonly logFile: string;
  readonly metricsPort: number;
  readonly probePort: number;
  readonly args?: readonly string[];
}): Promise<OperatorProcess> {
  const { kubeconfig, logFile, metricsPort, probePort, args = [] } = options;
  const child = spawn(
    process.execPath,
    [
      MAIN,
      `--kubeconfig=${kubeconfig}`,
      `--metrics-address=127.0.0.1:${metricsPort}`,
      `--probe-address=127.0.0.1:${probePort}`,
      ...args,
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  const log = createWriteStream(logFile);
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  await untilReady(child, `http://127.0.0.1:${probePort}/readyz`, logFile);
  return {
    metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
    logFile,
    pid: child.pid ?? 0,
    stop: () => stop(child),
  };
}

async function untilReady(child: ChildProcess, url: string, logFile: string): Promise<void> {
  const deadline = performance.now() + PATIENCE_S * 1_000;
  while (performance.now() < deadline) {
    if (hasEnded(child)) throw new Error(`the operator ended early; see ${logFile}`);
    const ok = await fetch(url).then(
      (response) => response.ok,
      () => false,
    );
    if (ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`the operator did not become ready; see ${logFile}`);
}

/** The exit code of a process that a signal ended is null. */
function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

function stop(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return Promise.resolve();
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.kill("SIGTERM");
  });
}
