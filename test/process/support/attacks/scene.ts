/** A victim and an attacker whom one operator serves, with the heap and the memory that the chart gives it. */
import { readFileSync } from "node:fs";
import { findCondition } from "../../../../src/api/conditions.ts";
import { type OperatorProcess, preferBundle } from "../../../real-world/program.ts";
import type { OwnServers } from "../../../real-world/servers.ts";
import { until } from "../../../real-world/until.ts";
import type { World } from "../../../real-world/world.ts";
import { type Memory, openHeap } from "./heap.ts";

/** A container of that size, of which the heap may take three fifths; see the chart's deployment. */
const CONTAINER_MIB = 256;
export const HEAP_MIB = 154;
const NODE_ARGS = ["--disable-proto=delete"];
const RESTART_MS = 20_000;
const REVOCATION_MS = 2_000;

export interface Scene {
  readonly attacker: World;
  /** What is in the operator's heap. */
  memory(): Promise<Memory>;
  residentMiB(): number;
  /** Throws unless the operator lives, fits into its container, and revokes the victim's access in time. */
  withstands(): Promise<object>;
  /** The same after a start beside what there is, which has to be ready in time. */
  withstandsRestart(): Promise<object>;
  metrics(): Promise<string>;
  close(): Promise<unknown>;
}

/** `everywhere`: the operator serves all namespaces, not only those of the victim and the attacker. */
export async function openScene(servers: OwnServers, everywhere = false): Promise<Scene> {
  preferBundle();
  const [victim, attacker] = [await servers.openWorld(), await servers.openWorld()];
  const heap = openHeap();
  const start = () =>
    victim.startProgram({
      args: [`--namespaces=${everywhere ? "" : `${victim.namespace},${attacker.namespace}`}`],
      nodeArgs: [`--max-old-space-size=${HEAP_MIB}`, ...NODE_ARGS, ...heap.nodeArgs],
      environment: { MALLOC_ARENA_MAX: "2" },
    });
  let operator: OperatorProcess = await start();
  await operator.untilReady();
  const tpn = await prepareVictim(victim);
  const withstands = async () => {
    const revokedMs = await revoke(victim, tpn).catch((error: unknown) => error);
    const peakMiB = operator.isRunning ? mebibytesOf(operator.pid, "VmHWM") : 0;
    if (peakMiB === 0) throw new Error(`the operator ended:\n${operator.output().slice(-1_500)}`);
    if (typeof revokedMs !== "number")
      throw new Error(`${revokedMs}; the operator said:\n${operator.output().slice(-1_500)}`);
    if (peakMiB > CONTAINER_MIB) throw new Error(`${peakMiB} MiB do not fit into the container`);
    if (revokedMs > REVOCATION_MS) throw new Error(`access was revoked after ${revokedMs} ms`);
    return { peakMiB, revokedMs };
  };
  return {
    attacker,
    withstands,
    memory: () => heap.memoryOf(operator),
    residentMiB: () => mebibytesOf(operator.pid, "VmRSS"),
    withstandsRestart: async () => {
      await operator.stop();
      const startedAt = performance.now();
      operator = await start();
      await operator.untilReady(RESTART_MS);
      const readyMs = Math.round(performance.now() - startedAt);
      return { readyMs, ...(await withstands()) };
    },
    metrics: async () => (await operator.get("/metrics")).text,
    close: () => operator.stop(),
  };
}

async function prepareVictim(victim: World): Promise<string> {
  await victim.createAccounts(["ci"]);
  const { world } = victim.iam;
  const tpn = world.accounts.get(await victim.saIdOf("ci"))?.tpn ?? "";
  const spec = { serviceAccountRef: { name: "ci" }, policyIds: ["pol-read"] };
  await victim.apply("PolicyBinding", "read", spec);
  await until("the policy to be bound", () => world.boundTo(tpn).length > 0);
  return tpn;
}

/** Points the Connection at a console and lists quotas of a cluster; answers the reason of Ready. */
export async function exportQuotas(
  world: World,
  baseURL: string,
): Promise<() => Promise<string | undefined>> {
  await world.patch("Connection", "console", { spec: { baseURL } });
  await world.apply("ResourceQuotaExport", "quotas", {
    connectionRef: { kind: "Connection", name: "console" },
    clusterId: 7,
    interval: "15s",
  });
  return async () => {
    const { status } = await world.get("ResourceQuotaExport", "quotas");
    return findCondition(status?.conditions, "Ready")?.reason;
  };
}

/** Waits until the operator says of so many objects that it does not keep them whole. */
export async function untilCutObjects({ metrics }: Scene, count: number): Promise<void> {
  await until("a metric of the objects that are not kept whole", async () => {
    const found = (await metrics()).matchAll(/^iam_operator_partial_objects\{.*\} (\d+)$/gm);
    return [...found].reduce((sum, [, value]) => sum + Number(value), 0) >= count;
  });
}

/** Takes the victim's access away and gives it back; answers how long the first took. */
async function revoke(victim: World, tpn: string): Promise<number> {
  const set = (access: "Granted" | "Revoked") =>
    victim.patch("ServiceAccount", "ci", { spec: { access } });
  const startedAt = performance.now();
  await set("Revoked");
  const isRevoked = () => victim.iam.world.boundTo(tpn).length === 0;
  await until("the victim's access to be revoked", isRevoked, 30_000, 5);
  const took = Math.round(performance.now() - startedAt);
  await set("Granted");
  await until("the victim's access to be back", () => !isRevoked(), 60_000);
  return took;
}

function mebibytesOf(pid: number, field: "VmHWM" | "VmRSS"): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const [, kilobytes] = new RegExp(`${field}:\\s+(\\d+) kB`).exec(status) ?? [];
  return Math.round(Number(kilobytes) / 1_024);
}
