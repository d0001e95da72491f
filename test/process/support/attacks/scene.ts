/** A victim and an attacker whom one operator serves, with the heap and the memory that the chart gives it. */
import { readFileSync } from "node:fs";
import { API_VERSION } from "../../../../src/api/meta.ts";
import {
  connectionType,
  policyBindingType,
  resourceQuotaExportType,
  serviceAccountType,
} from "../../../../src/controllers/resource-types.ts";
import { type OperatorProcess, preferBundle } from "../program.ts";
import type { Place, Rig } from "../rig.ts";
import { until } from "../until.ts";

/** A container of that size, of which the heap may take three fifths; see the chart's deployment. */
const CONTAINER_MIB = 256;
export const HEAP_MIB = 154;
const NODE_ARGS = ["--disable-proto=delete"];
const RESTART_MS = 20_000;
const REVOCATION_MS = 2_000;

export interface Scene {
  readonly attacker: Place;
  /** Throws unless the operator lives, fits into its container, and revokes the victim's access in time. */
  withstands(): Promise<object>;
  /** The same after a start beside what there is, which has to be ready in time. */
  withstandsRestart(): Promise<object>;
  metrics(): Promise<string>;
  close(): Promise<unknown>;
}

export async function openScene(rig: Rig): Promise<Scene> {
  preferBundle();
  const [victim, attacker] = [await rig.openPlace(), await rig.openPlace()];
  const start = () =>
    victim.start({
      args: [`--namespaces=${victim.namespace},${attacker.namespace}`],
      nodeArgs: [`--max-old-space-size=${HEAP_MIB}`, ...NODE_ARGS],
      environment: { MALLOC_ARENA_MAX: "2" },
    });
  let operator: OperatorProcess = await start();
  await operator.untilReady();
  const tpn = await prepareVictim(rig, victim);
  const withstands = async () => {
    const revokedMs = await revoke(rig, victim, tpn).catch((error: unknown) => error);
    const peakMiB = operator.isRunning ? peakOf(operator.pid) : 0;
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

async function prepareVictim({ kube }: Rig, { namespace, createAccounts, saIdOf, iam }: Place) {
  await createAccounts(["ci"]);
  const tpn = iam.world.accounts.get(await saIdOf("ci"))?.tpn ?? "";
  await kube.create(policyBindingType, {
    apiVersion: API_VERSION,
    kind: "PolicyBinding",
    metadata: { name: "read", namespace },
    spec: { serviceAccountRef: { name: "ci" }, policyIds: ["pol-read"] },
  } as never);
  await until("the policy to be bound", () => iam.world.boundTo(tpn).length > 0);
  return tpn;
}

/** Points the Connection of a namespace at a console and lists quotas of a cluster; answers the reason of Ready. */
export async function exportQuotas(
  { kube }: Rig,
  namespace: string,
  baseURL: string,
): Promise<() => Promise<string | undefined>> {
  await kube.mergePatch(connectionType, { namespace, name: "console" }, { spec: { baseURL } });
  const key = { namespace, name: "quotas" };
  await kube.create(resourceQuotaExportType, {
    apiVersion: API_VERSION,
    kind: "ResourceQuotaExport",
    metadata: key,
    spec: {
      connectionRef: { kind: "Connection", name: "console" },
      clusterId: 7,
      interval: "15s",
    },
  } as never);
  return async () => {
    const object = await kube.get(resourceQuotaExportType, key);
    return object?.status?.conditions?.find(({ type }) => type === "Ready")?.reason;
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
async function revoke({ kube }: Rig, { namespace, iam }: Place, tpn: string): Promise<number> {
  const set = (access: "Granted" | "Revoked") =>
    kube.mergePatch(serviceAccountType, { namespace, name: "ci" }, { spec: { access } });
  const startedAt = performance.now();
  await set("Revoked");
  const isRevoked = () => iam.world.boundTo(tpn).length === 0;
  await until("the victim's access to be revoked", isRevoked, 30_000, 5);
  const took = Math.round(performance.now() - startedAt);
  await set("Granted");
  await until("the victim's access to be back", () => !isRevoked(), 60_000);
  return took;
}

function peakOf(pid: number): number {
  const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Math.round(Number(kilobytes) / 1_024);
}
