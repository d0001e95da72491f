/**
 * One rotation after another for a long time: `npm run soak -- [--minutes 120] [--per-second 1] [--json FILE]`.
 * Ends with code 1 where memory grows, the event loop is held up, or a key is lost.
 */
import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { readFlags } from "../../scripts/flags.ts";
import { annotations } from "../../src/api/meta.ts";
import { LAG_SAMPLE_MS } from "../../src/observability/metrics.ts";
import { apiKeyType } from "../../src/resources/resource-types.ts";
import { patiently } from "../real-world/in-parallel.ts";
import { isInOrder, takeStock } from "../real-world/ledger.ts";
import { type OperatorProcess, preferBundle } from "../real-world/program.ts";
import { type OwnServers, startServers } from "../real-world/servers.ts";
import { until } from "../real-world/until.ts";
import type { World } from "../real-world/world.ts";
import { memoryMib } from "./proc.ts";
import { percentile, rounded, slope } from "./statistics.ts";
import { LATENCY_MS } from "./waits.ts";

const values = readFlags("soak", {
  json: { type: "string" },
  minutes: { type: "string", default: "120" },
  "per-second": { type: "string", default: "1" },
});
const minutes = Number(values.minutes);
const perSecond = Number(values["per-second"]);

const COLLECT = "SIGUSR2";
/** As the chart sets it up with its memory limit of 256 MiB: 60 % of them, and the image's two arenas. */
const AS_DEPLOYED = {
  nodeArgs: [
    "--max-old-space-size=154",
    "--expose-gc",
    `--import=data:text/javascript,process.on("${COLLECT}",()=>gc())`,
  ],
  environment: { MALLOC_ARENA_MAX: "2" },
};
const KEYS = 120;
const ACCOUNTS = 12;
/** After so many, another ApiKey takes its place: a status lists every key of its object until it expires. */
const ROTATIONS_OF_ONE = 4;
const deleteKey = {
  method: "DELETE",
  path: "/api/v1/iam/authn/service-accounts/{saId}/keys/{keyId}",
};

const SAMPLE_SECONDS = 10;
const LEAST_SHARE_DONE = 0.95;
const MOST_MB_PER_HOUR = 1;
const MOST_DELAY_MS = 50;
/** The slope of a shorter run means nothing. */
const LEAST_MINUTES_FOR_SLOPE = 120;
const isLong = minutes >= LEAST_MINUTES_FOR_SLOPE;
/** What is bounded by count is full by then, such as explained attempts, and further growth is a leak. */
const FILLING = { turns: 10_000, perSecond: 10 };
const FLOOR_EVERY_SAMPLES = 30;

interface Sample {
  readonly hours: number;
  readonly rssMb: number;
  /** The 99th percentile since the sample before. */
  readonly delayMs: number;
}

/**
 * What a major collection leaves. Between two of them, up to half an hour, memory rises in any case: a line through all
 * samples tells in which phase the run began and ended. And what the kernel counts stays as it is while there is free
 * room in it, so that a small leak shows in the live heap first, and only one outside of it in RSS.
 */
interface Floor {
  readonly hours: number;
  readonly rssMb: number;
  readonly liveMb: number;
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
if (preferBundle() === undefined) console.log("The operator runs from its sources.");
const servers = await startServers();
try {
  const world = await servers.openWorld({ latencyMs: LATENCY_MS, extraCalls: { deleteKey } });
  const operator = await world.startProgram(AS_DEPLOYED);
  const work = await startWork(servers, world);
  const measured = await soak(operator, work);
  const { figures, problems } = await judge(measured, work);
  console.log(`\nsoak\n${JSON.stringify(figures, undefined, 2)}`);
  for (const problem of problems) console.log(`\n${problem}`);
  const warnings = operator
    .output()
    .split("\n")
    .filter((line) => line.includes('"level":"warn"'));
  for (const warning of warnings.slice(-10)) console.log(`\n${warning}`);
  if (values.json !== undefined)
    writeFileSync(
      values.json,
      `${JSON.stringify({ ...figures, problems, ...measured }, undefined, 2)}\n`,
    );
  process.exitCode = problems.length > 0 ? 1 : 0;
} finally {
  await servers.close();
}
process.exit();

type Work = Awaited<ReturnType<typeof startWork>>;

/** ApiKeys that are in order, and what is done with them. */
async function startWork({ kube }: OwnServers, world: World) {
  const { namespace, iam } = world;
  const names = Array.from({ length: KEYS }, (_, slot) => `key-${slot}`);
  const keyIn = (slot: number) => ({
    name: names[slot] ?? "",
    account: `account-${slot % ACCOUNTS}`,
    spec: { rotation: { overlap: "5m" } },
  });
  let [created, asked] = [KEYS, 0];
  await world.createAccounts(Array.from({ length: ACCOUNTS }, (_, index) => `account-${index}`));
  await world.createKeys(names.map((_, slot) => keyIn(slot)));
  const takeStockOfAll = () => takeStock(world);
  // Calls, not keys: one that finds the token of an hour ago expired is refused, and made once more.
  const done = () => iam.requests.count("issueKey") - created;
  let before = -1;
  const isDone = async () => {
    // Asked first: a call counts from its arrival, and its key is in the stock afterwards.
    const issued = iam.requests.count("issueKey");
    const isQuiet = issued === before;
    before = issued;
    // A key that was issued again makes up for one that is still to come.
    if (!isQuiet || done() < asked) return false;
    const stock = await takeStockOfAll();
    return isInOrder(stock) && stock.objects === KEYS;
  };
  await until("every ApiKey to be in order", isDone, 300_000, 1_000);
  return {
    rotations: () => ({ asked, done: done() }),
    /** Asks for a rotation, or replaces an ApiKey that has had its rotations. */
    async act(turn: number): Promise<void> {
      const slot = turn % KEYS;
      const key = { namespace, name: names[slot] ?? "" };
      if ((Math.floor(turn / KEYS) + slot) % (ROTATIONS_OF_ONE + 1) < ROTATIONS_OF_ONE) {
        asked += 1;
        const metadata = { annotations: { [annotations.rotateRequestedAt]: `turn ${turn}` } };
        await patiently(() => kube.mergePatch(apiKeyType, key, { metadata }));
        return;
      }
      created += 1;
      names[slot] = `key-${KEYS + turn}`;
      await patiently(() => kube.delete(apiKeyType, key, {}));
      await world.createKeys([keyIn(slot)]);
    },
    /** The stock once everything is in order, or when nothing is to be hoped for any more. */
    async settle() {
      await until("order", isDone, 120_000, 1_000).catch(() => undefined);
      return takeStockOfAll();
    },
  };
}

async function soak(operator: OperatorProcess, work: Work) {
  const filling = isLong ? FILLING.turns : 0;
  await paced(filling, FILLING.perSecond, (turn) => work.act(turn));
  const startedAt = performance.now();
  const samples: Sample[] = [];
  const floors: Floor[] = [];
  const sampleEvery = Math.max(1, Math.round(SAMPLE_SECONDS * perSecond));
  const turns = Math.round(minutes * 60 * perSecond);
  await paced(turns, perSecond, async (turn) => {
    await work.act(filling + turn);
    if ((turn + 1) % sampleEvery !== 0) return;
    const sample = await takeSample(operator, startedAt);
    if ((turn + 1) % (6 * sampleEvery) === 0) tell(sample, work);
    // Of two hours, the first twelve minutes: what is remembered for ten of the filling is forgotten.
    if (turn < turns / 10) return;
    samples.push(sample);
    if ((turn + 1) % (FLOOR_EVERY_SAMPLES * sampleEvery) === 0)
      floors.push(await takeFloor(operator, startedAt));
  });
  return { samples, floors };
}

async function paced(
  turns: number,
  perSecond: number,
  act: (turn: number) => Promise<void>,
): Promise<void> {
  const startedAt = performance.now();
  for (let turn = 0; turn < turns; turn += 1) {
    await sleep(Math.max(0, startedAt + (turn * 1_000) / perSecond - performance.now()));
    await act(turn);
  }
}

async function takeFloor(operator: OperatorProcess, startedAt: number): Promise<Floor> {
  operator.signal(COLLECT);
  await sleep(1_000);
  const { text } = await operator.get("/metrics");
  const live = ["nodejs_heap_size_used_bytes", "nodejs_external_memory_bytes"].map((name) =>
    metricIn(text, name),
  );
  const liveMb = rounded(live.reduce((a, b) => a + b, 0) / 1e6);
  return { hours: hoursSince(startedAt), rssMb: rssMbOf(operator), liveMb };
}

/** The operator's histogram of delays begins anew with each scrape. */
async function takeSample(operator: OperatorProcess, startedAt: number): Promise<Sample> {
  const { text } = await operator.get("/metrics");
  const timerMs = metricIn(text, "nodejs_eventloop_lag_p99_seconds") * 1_000;
  const delayMs = rounded(timerMs - LAG_SAMPLE_MS);
  return { hours: hoursSince(startedAt), rssMb: rssMbOf(operator), delayMs };
}

function metricIn(text: string, metric: string): number {
  const [, value] = new RegExp(`^${metric} (\\S+)$`, "m").exec(text) ?? [];
  if (value === undefined) throw new Error(`the operator does not export ${metric}`);
  return Number(value);
}

function hoursSince(startedAt: number): number {
  return (performance.now() - startedAt) / 3_600_000;
}

function rssMbOf({ pid }: OperatorProcess): number {
  return rounded(memoryMib(pid).now * 1.048_576);
}

function tell({ hours, rssMb, delayMs }: Sample, work: Work): void {
  const { asked, done } = work.rotations();
  const minute = String(Math.round(hours * 60)).padStart(4);
  console.log(
    `${minute} min  RSS ${rssMb} MB, delay p99 ${delayMs} ms, ${done} of ${asked} rotations`,
  );
}

function growth<T extends { readonly hours: number }>(
  samples: readonly T[],
  mb: (sample: T) => number,
): number {
  return rounded(slope(samples.map((sample) => [sample.hours, mb(sample)])));
}

async function judge({ samples, floors }: Awaited<ReturnType<typeof soak>>, work: Work) {
  const { unaccounted, stuck, surplus, ...stock } = await work.settle();
  const { asked, done } = work.rotations();
  const delays = samples.map(({ delayMs }) => delayMs);
  const figures = {
    minutes,
    samples: samples.length,
    rssMb: samples.at(-1)?.rssMb,
    rssSlopeMbPerHour: growth(samples, ({ rssMb }) => rssMb),
    afterCollections: {
      liveMb: floors.at(-1)?.liveMb,
      liveSlopeMbPerHour: growth(floors, ({ liveMb }) => liveMb),
      rssMb: floors.at(-1)?.rssMb,
      rssSlopeMbPerHour: growth(floors, ({ rssMb }) => rssMb),
    },
    // Of the percentiles of each ten seconds: the middle one, and the one that a hundredth of them exceed.
    delayP99Ms: { median: percentile(delays, 0.5), p99: percentile(delays, 0.99) },
    rotationsAsked: asked,
    rotationsDone: done,
    unaccounted: unaccounted.length,
    stuck: stuck.length,
    surplus,
    objects: stock.objects,
  };
  const { liveSlopeMbPerHour, rssSlopeMbPerHour } = figures.afterCollections;
  const mbPerHour = Math.max(liveSlopeMbPerHour, rssSlopeMbPerHour);
  const isOrder = isInOrder({ ...stock, unaccounted, stuck, surplus }) && surplus === 0;
  const some = [...unaccounted, ...stuck].slice(0, 5).join("; ");
  const findings: readonly (readonly [boolean, string])[] = [
    [done < asked * LEAST_SHARE_DONE, `Only ${done} of ${asked} rotations were done.`],
    [
      isLong && !(mbPerHour < MOST_MB_PER_HOUR),
      `Memory grows by ${mbPerHour} MB an hour; less than ${MOST_MB_PER_HOUR} are allowed.`,
    ],
    [
      !(figures.delayP99Ms.p99 < MOST_DELAY_MS),
      `The event loop is ${figures.delayP99Ms.p99} ms late; less than ${MOST_DELAY_MS} are allowed.`,
    ],
    [!isOrder, `${surplus} keys are lost, ${stuck.length} ApiKeys stuck: ${some}`],
  ];
  return { figures, problems: findings.filter(([isSo]) => isSo).map(([, text]) => text) };
}
