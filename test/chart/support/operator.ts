/** The operator as the chart's Deployment starts it, but for addresses: a process with those very flags and variables. */
import { type ChildProcess, spawn } from "node:child_process";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Kubectl } from "../../../scripts/demo/kubectl.ts";

const MAIN = join(import.meta.dirname, "../../../src/main.ts");

interface Container {
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value?: string }[];
}

export interface DeployedOperator {
  readonly log: () => string;
  readonly metrics: () => Promise<string>;
  stop(): Promise<void>;
}

export async function startDeployed(
  kubectl: Kubectl,
  { namespace, name, kubeconfig }: { namespace: string; name: string; kubeconfig: string },
): Promise<DeployedOperator> {
  const path = "jsonpath={.spec.template.spec.containers[0]}";
  const container: Container = JSON.parse(
    await kubectl(["get", "deployment", name, `-n=${namespace}`, "-o", path]),
  );
  const [metrics, probes] = [await freePort(), await freePort()];
  const child = spawn(
    process.execPath,
    [
      MAIN,
      ...container.args,
      `--kubeconfig=${kubeconfig}`,
      `--metrics-address=127.0.0.1:${metrics}`,
      `--probe-address=127.0.0.1:${probes}`,
      "--connection-networks=127.0.0.1",
    ],
    {
      env: { PATH: process.env.PATH, POD_NAME: "pod-1", ...variables(container) },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let log = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => {
      log += chunk;
    });
  await untilReady(child, probes, () => log);
  return {
    log: () => log,
    metrics: async () => (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text(),
    stop: () => stop(child),
  };
}

function variables({ env }: Container): Readonly<Record<string, string>> {
  return Object.fromEntries(
    env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])),
  );
}

async function untilReady(child: ChildProcess, port: number, log: () => string): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (performance.now() < deadline && child.exitCode === null) {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  child.kill("SIGKILL");
  throw new Error(`the operator did not become ready\n${log()}`);
}

function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.kill("SIGTERM");
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}
