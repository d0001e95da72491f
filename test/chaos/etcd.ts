/** Sets a control plane back to what its etcd held earlier, as a restore from a backup does. */
import { cpSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { namespaceType } from "../../src/resources/resource-types.ts";
import { findBinaries } from "../cluster/binaries.ts";
import { apiServerCommand, etcdCommand, layoutOf } from "../cluster/commands.ts";
import type { ControlPlane } from "../cluster/control-plane.ts";
import { startProgram } from "../cluster/program.ts";
import { until } from "../real-world/until.ts";

/** Copies the data of etcd while nothing writes to it. */
export async function backUp(cluster: ControlPlane): Promise<void> {
  await cluster.killApiServer();
  await sleep(500);
  cpSync(join(cluster.directory, "etcd"), join(cluster.directory, "backup"), { recursive: true });
  await cluster.startApiServer();
}

/** Ends API server and etcd, puts the copy back, and starts both again. Answers how to end them. */
export async function restore(
  cluster: ControlPlane,
  kube: KubeClient,
): Promise<() => Promise<void>> {
  const { pid, args } = findEtcd(cluster.directory);
  await cluster.killApiServer();
  process.kill(pid, "SIGKILL");
  await until("etcd to be gone", () => !isAlive(pid));
  const data = join(cluster.directory, "etcd");
  rmSync(data, { recursive: true });
  cpSync(join(cluster.directory, "backup"), data, { recursive: true });

  const binaries = await findBinaries(() => undefined);
  const port = (flag: string) =>
    Number(new URL(args.find((arg) => arg.startsWith(flag))?.slice(flag.length) ?? "").port);
  const layout = layoutOf(cluster.directory, [
    Number(new URL(cluster.url).port),
    port("--listen-client-urls="),
    port("--listen-peer-urls="),
  ]);
  const etcd = startProgram(etcdCommand(binaries, layout));
  const apiServer = startProgram(apiServerCommand(binaries, layout));
  await until(
    "the restored API server to answer",
    () =>
      kube.list(namespaceType).then(
        () => true,
        () => false,
      ),
    60_000,
    200,
  );
  return async () => {
    await apiServer.kill();
    await etcd.kill();
  };
}

/** The etcd that this process has started in the directory. */
function findEtcd(directory: string): { readonly pid: number; readonly args: readonly string[] } {
  for (const entry of readdirSync("/proc")) {
    const pid = Number(entry);
    if (!Number.isInteger(pid)) continue;
    const args = readOr("", `/proc/${pid}/cmdline`).split("\0");
    const parent = Number(/\) \S (\d+)/.exec(readOr("", `/proc/${pid}/stat`))?.[1]);
    if (parent !== process.pid || !args[0]?.endsWith("etcd")) continue;
    if (readOr("", `/proc/${pid}/environ`) !== "" && isIn(pid, directory)) return { pid, args };
  }
  throw new Error("this process has started no etcd there");
}

function isIn(pid: number, directory: string): boolean {
  const maps = readOr("", `/proc/${pid}/maps`);
  return maps.includes(`${directory}/etcd/`);
}

function isAlive(pid: number): boolean {
  const state = /\) (\S)/.exec(readOr("", `/proc/${pid}/stat`))?.[1];
  return state !== undefined && state !== "Z";
}

function readOr(fallback: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return fallback;
  }
}
