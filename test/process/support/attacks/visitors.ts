/** Tenants that come, fill everything that they may fill, have the worst console, and go. */
import { randomUUID } from "node:crypto";
import { EXTRA_CALLS } from "../../../real-world/extra-calls.ts";
import { inParallel } from "../../../real-world/in-parallel.ts";
import type { OwnServers } from "../../../real-world/servers.ts";
import { until } from "../../../real-world/until.ts";
import type { World } from "../../../real-world/world.ts";
import { spoilings, startSpoilingConsole } from "./console.ts";
import { exportQuotas, openScene, type Scene } from "./scene.ts";

/** Begins every text of a visitor. */
const TRACE = "left-by-a-visitor";
/** Of one entry of a Secret. */
const ENTRY_BYTES = 200_000;
const SPOILED = 5;
/** The second one is in what a spoiled answer makes long. */
const TRACES = [TRACE, "𝒳𝒳𝒳"];

interface Visits {
  readonly visitors: number;
  /** In odd rounds they come at once. */
  readonly rounds: number;
}

interface Leftovers {
  /** What the leader takes after each round. */
  readonly residentMiB: readonly number[];
  /** Texts of visitors that it still has in the end, when no call for them can be under way any more. */
  readonly texts: readonly string[];
}

/** A call over the visitors' connections ends within that time. */
const LONGEST_CALL_MS = 60_000;

/** What the leader still has in memory when the visitors are gone. */
export async function letVisitorsComeAndGo(
  servers: OwnServers,
  { visitors, rounds }: Visits,
): Promise<Leftovers> {
  const scene = await openScene(servers, true);
  const residentMiB: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const numbers = Array.from({ length: visitors }, (_, n) => round + n);
    const atOnce = round % 2 === 0 ? 1 : visitors;
    await inParallel(numbers, atOnce, (n) => visit(servers, n));
    const withstood = await scene.withstands();
    residentMiB.push(scene.residentMiB());
    console.log(
      JSON.stringify({ visitors, atOnce, ...withstood, residentMiB: residentMiB.at(-1) }),
    );
  }
  // A snapshot takes much memory itself, so it is the last that is measured.
  const texts = await leftTexts(scene);
  await visit(servers, 0, async () => {
    const { texts } = await scene.memory();
    if (!texts.some(isOfVisitor)) throw new Error("nothing is seen of a visitor who is there");
  });
  await scene.close();
  return { residentMiB, texts };
}

async function leftTexts(scene: Scene): Promise<readonly string[]> {
  let left: readonly string[] = [];
  const isClean = async () => {
    const { heapMiB, texts } = await scene.memory();
    left = texts.filter(isOfVisitor).map((text) => text.slice(0, 100));
    console.log(JSON.stringify({ heapMiB, left }));
    return left.length === 0;
  };
  await until("no text of a visitor", isClean, LONGEST_CALL_MS, 10_000).catch(() => undefined);
  return left;
}

function isOfVisitor(text: string): boolean {
  return TRACES.some((trace) => text.includes(trace));
}

/** Lets one visitor come and go; `n` says in which way its console is bad. */
async function visit(
  servers: OwnServers,
  n: number,
  beforeLeaving?: () => Promise<void>,
): Promise<void> {
  const world = await servers.openWorld({ extraCalls: EXTRA_CALLS });
  await fill(world, n);
  const hostile = await startSpoilingConsole(world.iam.url, pick(spoilings, n));
  await exportQuotas(world, hostile.url);
  await world.annotate("ServiceAccount", "one", {
    "iam-operator.io/reconcile-requested-at": randomUUID(),
  });
  await until("spoiled answers", () => hostile.spoiled >= SPOILED);
  await beforeLeaving?.();
  await leave(world);
}

async function fill(world: World, n: number): Promise<void> {
  const text = (size: number) => `${TRACE}-${n}-${randomUUID()} `.padEnd(size, "x");
  for (const name of ["one", "two"]) {
    await world.serviceAccount(name, { description: text(500), deletionPolicy: "Revoke" });
    const serviceAccountRef = { name };
    await world.apply("PolicyBinding", name, { serviceAccountRef, policyIds: ["pol-read"] });
    const data = Object.fromEntries(
      Array.from({ length: 20 }, (_, entry) => [`entry-${entry}`, `${text(2_000)}\${secret}`]),
    );
    const secret = { data, annotations: { "example.com/note": text(4_000) } };
    await world.apply("ApiKey", name, { serviceAccountRef, description: text(200), secret });
  }
  const entries = ["a", "b", "c", "d"].map((entry) => [entry, text(ENTRY_BYTES)]);
  await world.writeSecret("fullest", Object.fromEntries(entries));
  await world.apply("ApiKey", "three", {
    serviceAccountRef: { name: "one" },
    secret: { name: "fullest" },
  });
  for (const name of ["one", "two"]) await world.ready("ApiKey", name);
}

/** Deletes the namespace with everything in it, and waits until it is gone. */
async function leave(world: World): Promise<void> {
  await world.halt();
  await world.deleteNamespace();
  const isGone = async () => (await world.listAll()).objects === EMPTY;
  await until(`the objects of ${world.namespace} to be gone`, async () => {
    if (await isGone()) return true;
    await world.deleteNamespace().catch(() => undefined);
    return false;
  });
}

const EMPTY = JSON.stringify([[], [], [], [], [], []]);

function pick<T>(list: readonly T[], n: number): T {
  const found = list[n % list.length];
  if (found === undefined) throw new Error("there is nothing to choose from");
  return found;
}
