/** How long a new ApiKey waits for its Secret, alone and beside many others. */
import { setTimeout as sleep } from "node:timers/promises";
import { apiKeyType } from "../../src/resources/resource-types.ts";
import type { OperatorProcess } from "../real-world/program.ts";
import type { OwnServers } from "../real-world/servers.ts";
import { until } from "../real-world/until.ts";
import type { KeySpec, World } from "../real-world/world.ts";
import { percentile } from "./statistics.ts";
import { watchFor } from "./watcher.ts";

export const LATENCY_MS = 5;
export const ALONE = "--leader-elect=false";
const PROBES = 20;
const KEYS_PER_ACCOUNT = 100;
const PATIENCE_MS = 900_000;

/** What else there is to do in the first of two namespaces; answers how much of it is left. */
type Load = (scene: Scene) => Promise<() => number>;

interface Scene {
  readonly servers: OwnServers;
  readonly world: World;
  readonly operator: OperatorProcess;
}

/** Of ApiKeys in the namespace of the others, but with another account, and in another namespace. */
export async function newKeyWaits(
  servers: OwnServers,
  { queued, failing }: { readonly queued: number; readonly failing: number },
) {
  return {
    unloaded: await waitsBeside(servers, async () => () => 0),
    [`beside${queued}Queued`]: await waitsBeside(servers, queue(queued)),
    [`beside${failing}Failing`]: await waitsBeside(servers, fail(failing)),
  };
}

async function waitsBeside(servers: OwnServers, load: Load) {
  const world = await servers.openWorld({ latencyMs: LATENCY_MS });
  const other = await servers.openWorld({ latencyMs: LATENCY_MS });
  const namespaces = `--namespaces=${world.namespace},${other.namespace}`;
  const operator = await world.startProgram({ args: [ALONE, namespaces] });
  for (const each of [world, other]) {
    await each.createAccounts(["probe"]);
    await each.saIdOf("probe");
  }
  const left = await load({ servers, world, operator });
  const keys = Array.from({ length: PROBES }, (_, index) => ({
    name: `probe-${index}`,
    account: "probe",
  }));
  const probe = (where: World) => untilSecrets(servers.cluster.kubeconfig, where, keys, 1_000);
  const [otherNamespace, sameNamespace, leftAtLastProbe] = await Promise.all([
    probe(other),
    probe(world),
    sleep(PROBES * 1_000).then(left),
  ]);
  await operator.stop();
  return { otherNamespace, sameNamespace, leftAtLastProbe };
}

/** From sending each ApiKey to its Secret, as a watcher of Secrets sees it. */
export async function untilSecrets(
  kubeconfig: string,
  world: World,
  keys: readonly KeySpec[],
  everyMs: number,
) {
  const path = `/api/v1/namespaces/${world.namespace}/secrets`;
  const watcher = await watchFor(kubeconfig, path, () => true);
  const sentAt = new Map<string, number>();
  for (const key of keys) {
    sentAt.set(key.name, performance.now());
    void world.createKeys([key]);
    await sleep(everyMs);
  }
  const names = [...sentAt.keys()];
  const missing = () => names.filter((name) => !watcher.seen.has(name));
  await until(
    () => `the Secrets ${missing().join(", ")}`,
    () => missing().length === 0,
    PATIENCE_MS,
  );
  const times = names.map((name) => (watcher.seen.get(name) ?? 0) - (sentAt.get(name) ?? 0));
  await watcher.close();
  return { p50: Math.round(percentile(times, 0.5)), p99: Math.round(percentile(times, 0.99)) };
}

/** ApiKeys that come to the operator all at once. */
function queue(count: number): Load {
  return async ({ world, operator }) => {
    const { keys } = await createCrowd(world, count);
    operator.signal("SIGSTOP");
    await world.createKeys(keys);
    operator.signal("SIGCONT");
    return () => Math.max(0, count - world.iam.world.keys.size);
  };
}

/** ApiKeys of accounts for which every call to the console fails, and has failed before. */
function fail(count: number): Load {
  return async ({ servers, world }) => {
    const { keys, ids } = await createCrowd(world, count);
    world.iam.faults.add({
      fault: { kind: "Refuse", status: 500 },
      times: "always",
      where: ({ path }) => ids.some((id) => path.includes(id)),
    });
    await world.createKeys(keys);
    const isReported = async () => {
      const objects = await servers.kube.list(apiKeyType, { namespace: world.namespace });
      return objects.every(({ status }) => (status?.conditions?.length ?? 0) > 0);
    };
    await until("a condition of every ApiKey", isReported, PATIENCE_MS, 500);
    return () => count;
  };
}

/** Accounts that are ready, and the ApiKeys that are to come. */
async function createCrowd(world: World, count: number) {
  const accounts = Array.from(
    { length: Math.ceil(count / KEYS_PER_ACCOUNT) },
    (_, index) => `crowd-${index}`,
  );
  await world.createAccounts(accounts);
  const ids = await Promise.all(accounts.map((name) => world.saIdOf(name)));
  const keys = Array.from({ length: count }, (_, index) => ({
    name: `crowd-${index}`,
    account: `crowd-${index % accounts.length}`,
  }));
  return { keys, ids };
}
