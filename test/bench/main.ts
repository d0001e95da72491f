/**
 * Figures of this machine at this moment: `npm run bench -- [--objects 1000] [--queued 2000] [--json FILE]`.
 */
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readFlags } from "../../scripts/flags.ts";
import type { ApiKey } from "../../src/api/api-key.ts";
import { isTrue } from "../../src/api/conditions.ts";
import { serviceAccountType } from "../../src/resources/resource-types.ts";
import { takeStock } from "../real-world/ledger.ts";
import { preferBundle } from "../real-world/program.ts";
import { type OwnServers, startServers } from "../real-world/servers.ts";
import { until } from "../real-world/until.ts";
import type { World } from "../real-world/world.ts";
import { type Recorded, recordCalls } from "./calls.ts";
import { runFloor } from "./floor.ts";
import { cpuSeconds, memoryMib } from "./proc.ts";
import { rounded } from "./statistics.ts";
import { ALONE, LATENCY_MS, newKeyWaits, untilSecrets } from "./waits.ts";
import { watchFor } from "./watcher.ts";

const values = readFlags("bench", {
  json: { type: "string" },
  objects: { type: "string", default: "1000" },
  queued: { type: "string" },
});
const objects = Number(values.objects);
const queued = Number(values.queued ?? 2 * objects);

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
const bundle = preferBundle();

const figures: Record<string, unknown> = {
  machine: { cpus: cpus().length, model: cpus()[0]?.model, node: process.version },
  objects,
  consoleLatencyMs: LATENCY_MS,
  bundleKilobytes: bundle === undefined ? "no current bundle" : sizesIn(bundle),
};
tell("machine and bundle", figures);

let servers = await startServers();
try {
  note("startSeconds", await startTimes(servers));
  const recorded = await recordCalls(servers);
  note("calls", {
    account: recorded.account,
    issue: recorded.issue,
    rotation: recorded.rotation,
    idlePass: recorded.idlePass,
  });
  note("createToSecretMs", await latency(servers));
  note("newKeyWaitsMs", await newKeyWaits(servers, { queued, failing: objects }));
  for (const workers of [16, 64]) {
    await servers.close();
    // A fresh etcd for every run.
    servers = await startServers();
    const again = await recordCalls(servers);
    note(`issue${workers}`, await issueMany(servers, again, workers, workers === 64));
  }
} finally {
  await servers.close();
}
if (values.json !== undefined)
  writeFileSync(values.json, `${JSON.stringify(figures, undefined, 2)}\n`);
process.exit(0);

function note(name: string, value: unknown): void {
  figures[name] = value;
  tell(name, value);
}

function tell(name: string, value: unknown): void {
  console.log(`\n${name}\n${JSON.stringify(value, undefined, 2)}`);
}

function sizesIn(directory: string): Readonly<Record<string, number>> {
  const files = readdirSync(directory).filter((file) => file.endsWith(".mjs"));
  return Object.fromEntries(
    files.map((file) => [
      file.replace(/-[A-Z0-9]{8}/, ""),
      Math.round(statSync(join(directory, file)).size / 1_000),
    ]),
  );
}

/** From the start of the process to a good answer of /readyz, on an empty cluster. */
async function startTimes({
  openWorld,
}: OwnServers): Promise<{ median: number; all: readonly number[] }> {
  const world = await openWorld();
  const all: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    const at = performance.now();
    const operator = await world.startProgram({ args: [ALONE] });
    await operator.untilReady();
    all.push(rounded((performance.now() - at) / 1_000));
    await operator.stop();
  }
  return { median: all.toSorted((a, b) => a - b)[2] ?? 0, all };
}

/** From sending an ApiKey to its Secret, ten a second. */
async function latency({ openWorld, cluster }: OwnServers) {
  const world = await openWorld({ latencyMs: LATENCY_MS });
  const operator = await world.startProgram({ args: [ALONE] });
  const names = Array.from({ length: 200 }, (_, index) => `key-${index}`);
  await world.createAccounts(names);
  await operator.untilReady();
  await accountsReady(world, names.length);
  const keys = names.map((name) => ({ name, account: name }));
  const times = await untilSecrets(cluster.kubeconfig, world, keys, 100);
  await operator.stop();
  return times;
}

/** Many ApiKeys that are there when the operator starts, one of each account; and the same without logic. */
async function issueMany(
  servers: OwnServers,
  recorded: Recorded,
  workers: number,
  further: boolean,
) {
  const world = await servers.openWorld({ latencyMs: LATENCY_MS, concurrency: workers });
  const names = Array.from({ length: objects }, (_, index) => `key-${index}`);
  const args = [ALONE, `--concurrency=${workers}`];
  await world.createAccounts(names);
  const first = await world.startProgram({ args });
  await accountsReady(world, objects);
  await first.stop();
  await world.createKeys(names.map((name) => ({ name, account: name })));

  const watcher = await watchFor<ApiKey>(
    servers.cluster.kubeconfig,
    `/apis/iam-operator.io/v1alpha1/namespaces/${world.namespace}/apikeys`,
    ({ status }) => isTrue(status?.conditions, "Ready"),
  );
  const operator = await world.startProgram({ args });
  await operator.untilReady();
  const at = performance.now();
  await until("every key", () => watcher.seen.size === objects, 300_000, 100);
  const seconds = rounded((Math.max(...watcher.seen.values()) - at) / 1_000);
  await watcher.close();
  const cpu = rounded(cpuSeconds(operator.pid));
  const memory = memoryMib(operator.pid);
  await until("order", async () => (await takeStock(world)).stuck.length === 0, 60_000, 500);
  const { issued, surplus } = await takeStock(world);
  await operator.stop();

  const floorSeconds = rounded(await floor(servers, recorded, workers));
  return {
    seconds,
    floorSeconds,
    ratio: rounded(seconds / floorSeconds),
    cpuSeconds: cpu,
    peakMib: memory.peak,
    keysBeyond: issued - objects + surplus,
    // What the issue has left to do, such as listing the keys again, is done by the first restart.
    ...(further ? { firstRestart: await idle(world), secondRestart: await idle(world) } : {}),
  };
}

async function floor(servers: OwnServers, recorded: Recorded, writers: number): Promise<number> {
  // No operator works here.
  const world = await servers.openWorld({ latencyMs: LATENCY_MS });
  const names = Array.from({ length: objects }, (_, index) => `key-${index}`);
  await world.createKeys(names.map((name) => ({ name, account: name })));
  return runFloor(servers, recorded, {
    namespace: world.namespace,
    iam: world.iam,
    names,
    writers,
  });
}

/** A restart with everything in order: how long, and what it costs to have nothing to do. */
async function idle(world: World) {
  const gate = await world.openGate();
  const before = world.iam.requests.count("issueKey");
  const at = performance.now();
  const operator = await world.startProgram({ via: gate, args: [ALONE, "--concurrency=64"] });
  await operator.untilReady();
  const syncedSeconds = rounded((performance.now() - at) / 1_000);
  await until("quiet", async () => isQuiet(gate.requests.at(-1)?.at), 120_000, 250);
  const quietSeconds = rounded(((gate.requests.at(-1)?.at ?? at) - at) / 1_000);
  const cpu = cpuSeconds(operator.pid);
  await sleep(30_000);
  const millicores = rounded(((cpuSeconds(operator.pid) - cpu) / 30) * 1_000);
  const result = {
    syncedSeconds,
    quietSeconds,
    kubeCallsAfterRestart: gate.requests.length,
    mutatingCallsAfterRestart: byPath(gate.mutations()),
    keysIssuedAfterRestart: world.iam.requests.count("issueKey") - before,
    idleMillicores: millicores,
    rssMib: memoryMib(operator.pid).now,
  };
  await operator.stop();
  return result;
}

/** How many calls of each sort, whatever the objects' names. */
function byPath(calls: readonly string[]): Readonly<Record<string, number>> {
  const sorts = calls.map((call) => call.replace(/key-\d+/, "*").replace(/\?.*/, ""));
  return Object.fromEntries(
    [...new Set(sorts)].map((sort) => [sort, sorts.filter((each) => each === sort).length]),
  );
}

function isQuiet(lastAt: number | undefined): boolean {
  return lastAt !== undefined && performance.now() - lastAt > 3_000;
}

async function accountsReady(world: World, count: number): Promise<void> {
  await until(
    "every ServiceAccount to be ready",
    async () => {
      const accounts = await world.kube.list(serviceAccountType, world);
      return accounts.filter(({ status }) => isTrue(status?.conditions, "Ready")).length === count;
    },
    300_000,
    500,
  );
}
