/** Which changes of Secrets are told, when the operator writes them itself. */
import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, test } from "vitest";
import { labels, MANAGED_BY } from "../../../src/api/meta.ts";
import { WatchedSecrets } from "../../../src/app/watched-secrets.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";
import { secretType } from "../../../src/resources/resource-types.ts";
import { silentLog } from "../../../src/util/log.ts";
import { systemRandom } from "../../../src/util/random.ts";
import { SECOND } from "../../../src/util/time.ts";
import type { WatchFault } from "../../../tools/simulation/faults.ts";
import { type KubeProcess, KubeWorld } from "../../support/kube-world.ts";

const KEY = { namespace: "ns", name: "ci" };
const FOREIGN = { namespace: "ns", name: "other" };

let world: KubeWorld;
let operator: KubeProcess;
let secrets: WatchedSecrets;
let abort: AbortController;
let told: string[];

beforeEach(() => {
  world = new KubeWorld();
  world.cluster.put(secretType, { metadata: FOREIGN });
  abort = new AbortController();
  told = [];
});

afterEach(async () => {
  abort.abort();
  await world.kernel.advance(SECOND);
});

async function follow(fault?: WatchFault): Promise<void> {
  const faults =
    fault === undefined ? [] : [{ on: "watch", plural: "secrets", nth: 1, fault } as const];
  operator = world.start("operator", {}, faults);
  secrets = new WatchedSecrets({
    api: operator.api,
    namespaces: [],
    watchSecrets: "true",
    random: systemRandom,
    log: silentLog,
    metrics: createMetrics(new Registry()),
  });
  secrets.subscribe(({ key, new: now }) =>
    told.push(`${key.name} ${now?.metadata.resourceVersion ?? "gone"}`),
  );
  void secrets.follow(abort.signal);
  await world.kernel.advance(5 * SECOND);
  expect(secrets.isWatched).toBe(true);
}

const secret = (by: string) => ({
  metadata: {
    ...KEY,
    labels: { [labels.managedBy]: MANAGED_BY, [labels.apiKey]: "ci" },
    annotations: { by },
  },
});
const storedVersion = () => world.cluster.peek(secretType, KEY).metadata.resourceVersion;
const editByUser = () => world.cluster.put(secretType, secret("user"));
const write = () =>
  secrets.track(KEY, () => operator.client.apply(secretType, secret("operator") as never));

test("our own write is not told if its response comes first", async () => {
  await follow({ kind: "Late", ms: 2 * SECOND });
  const writing = write();
  await world.kernel.advance(SECOND);
  await writing;
  expect(secrets.isCurrent(KEY)).toBe(false);
  await world.kernel.advance(2 * SECOND);
  expect([secrets.isCurrent(KEY), told]).toEqual([true, []]);
});

test("our own write is not told if its event comes first", async () => {
  await follow();
  operator.faults.call = { kind: "Slow", ms: SECOND };
  const writing = write();
  await world.kernel.advance(1.5 * SECOND);
  expect(secrets.get(KEY)).toBeDefined();
  await world.kernel.advance(SECOND);
  await writing;
  expect([secrets.isCurrent(KEY), told]).toEqual([true, []]);
});

test("what others do while we write is told when the write has its response", async () => {
  await follow();
  operator.faults.call = { kind: "Slow", ms: 2 * SECOND };
  const writing = write();
  await world.kernel.advance(3 * SECOND);
  editByUser();
  const version = storedVersion();
  await world.kernel.advance(0.5 * SECOND);
  expect([secrets.get(KEY)?.metadata.resourceVersion, told]).toEqual([version, []]);
  await world.kernel.advance(SECOND);
  await writing;
  expect(told).toEqual([`ci ${version}`]);
  world.cluster.remove(secretType, KEY);
  await world.kernel.advance(SECOND);
  expect(told).toEqual([`ci ${version}`, "ci gone"]);
});

test("a write that fails hides nothing", async () => {
  await follow();
  operator.faults.call = { kind: "Reset", when: "AfterCommit" };
  const writing = expect(write()).rejects.toThrow("simulated: network");
  await world.kernel.advance(SECOND);
  await writing;
  expect(told).toEqual([`ci ${storedVersion()}`]);
});
