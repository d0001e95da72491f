/** How long a new ApiKey waits for its Secret, alone and beside many others. */
import { setTimeout as sleep } from "node:timers/promises";
import { apiKeyType } from "../../src/controllers/resource-types.ts";
import type { OperatorProcess } from "../process/support/program.ts";
import type { KeySpec, Place, Rig } from "../process/support/rig.ts";
import { until } from "../process/support/until.ts";
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
  readonly rig: Rig;
  readonly place: Place;
  readonly operator: OperatorProcess;
}

/** Of ApiKeys in the namespace of the others, but with another account, and in another namespace. */
export async function newKeyWaits(
  rig: Rig,
  { queued, failing }: { readonly queued: number; readonly failing: number },
) {
  return {
    unloaded: await waitsBeside(rig, async () => () => 0),
    [`beside${queued}Queued`]: await waitsBeside(rig, queue(queued)),
    [`beside${failing}Failing`]: await waitsBeside(rig, fail(failing)),
  };
}

async function waitsBeside(rig: Rig, load: Load) {
  const place = await rig.openPlace({ latencyMs: LATENCY_MS });
  const other = await rig.openPlace({ latencyMs: LATENCY_MS });
  const namespaces = `--namespaces=${place.namespace},${other.namespace}`;
  const operator = await place.start({ args: [ALONE, namespaces] });
  for (const { createAccounts, saIdOf } of [place, other]) {
    await createAccounts(["probe"]);
    await saIdOf("probe");
  }
  const left = await load({ rig, place, operator });
  const keys = Array.from({ length: PROBES }, (_, index) => ({
    name: `probe-${index}`,
    account: "probe",
  }));
  const probe = (where: Place) => untilSecrets(rig.cluster.kubeconfig, where, keys, 1_000);
  const [otherNamespace, sameNamespace, leftAtLastProbe] = await Promise.all([
    probe(other),
    probe(place),
    sleep(PROBES * 1_000).then(left),
  ]);
  await operator.stop();
  return { otherNamespace, sameNamespace, leftAtLastProbe };
}

/** From sending each ApiKey to its Secret, as a watcher of Secrets sees it. */
export async function untilSecrets(
  kubeconfig: string,
  place: Place,
  keys: readonly KeySpec[],
  everyMs: number,
) {
  const path = `/api/v1/namespaces/${place.namespace}/secrets`;
  const watcher = await watchFor(kubeconfig, path, () => true);
  const sentAt = new Map<string, number>();
  for (const key of keys) {
    sentAt.set(key.name, performance.now());
    void place.createKeys([key]);
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
  return async ({ place, operator }) => {
    const { keys } = await createCrowd(place, count);
    operator.signal("SIGSTOP");
    await place.createKeys(keys);
    operator.signal("SIGCONT");
    return () => Math.max(0, count - place.iam.world.keys.size);
  };
}

/** ApiKeys of accounts for which every call to the console fails, and has failed before. */
function fail(count: number): Load {
  return async ({ rig, place }) => {
    const { keys, ids } = await createCrowd(place, count);
    place.iam.faults.add({
      fault: { kind: "Refuse", status: 500 },
      times: "always",
      where: ({ path }) => ids.some((id) => path.includes(id)),
    });
    await place.createKeys(keys);
    const isReported = async () => {
      const objects = await rig.kube.list(apiKeyType, { namespace: place.namespace });
      return objects.every(({ status }) => (status?.conditions?.length ?? 0) > 0);
    };
    await until("a condition of every ApiKey", isReported, PATIENCE_MS, 500);
    return () => count;
  };
}

/** Accounts that are ready, and the ApiKeys that are to come. */
async function createCrowd({ createAccounts, saIdOf }: Place, count: number) {
  const accounts = Array.from(
    { length: Math.ceil(count / KEYS_PER_ACCOUNT) },
    (_, index) => `crowd-${index}`,
  );
  await createAccounts(accounts);
  const ids = await Promise.all(accounts.map(saIdOf));
  const keys = Array.from({ length: count }, (_, index) => ({
    name: `crowd-${index}`,
    account: `crowd-${index % accounts.length}`,
  }));
  return { keys, ids };
}
