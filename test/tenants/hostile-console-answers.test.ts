/** Consoles that answer as much as they may: neither the heap nor anybody's time is theirs. */
import { once } from "node:events";
import type { RequestListener } from "node:http";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { ResponseMemoryLimiter } from "../../src/http/response-memory-limiter.ts";
import { Redacted } from "../../src/util/redacted.ts";
import { startWeb } from "../support/local-server.ts";
import { clientOf, failureOf } from "../unit/console/clients.ts";
import type { HeapReport, HeapTask } from "./heap-worker.ts";

const MIB = 2 ** 20;
const TOKEN = { credentials: { kind: "token", token: new Redacted("token") } } as const;
/** Just what the client reads of one answer. */
const MOST_BYTES = 8 * MIB - 1_000;

/** A body of 8 MiB that repeats `part`, which ends with a comma. */
function filled(before: string, part: string, after: string): string {
  const count = Math.floor((MOST_BYTES - before.length - after.length) / part.length);
  return `${before}${part.repeat(count).slice(0, -1)}${after}`;
}

const names = Array.from({ length: 600_000 }, (_, index) => `"${index}x":0`).join(",");

const bodies: readonly [string, HeapTask["call"], string, "Few records" | "MalformedResponse"][] = [
  ["empty objects", "listServiceAccounts", filled("[", "{},", "]"), "MalformedResponse"],
  ["empty lists in lists", "listPolicies", filled("[", "[[]],", "]"), "MalformedResponse"],
  ["small records", "listPolicies", filled("[", '{"id":"a"},', "]"), "MalformedResponse"],
  [
    "key ids",
    "getServiceAccount",
    filled('{"saId":"sa-1","keys":[', '"a",', "]}"),
    "MalformedResponse",
  ],
  ["fields", "getServiceAccount", `{"saId":"sa-1",${names}}`, "MalformedResponse"],
  ["one text", "listServiceAccounts", filled('[{"saId":"a","name":"', "x,", '"}]'), "Few records"],
];

/** Answers every call with the body, every second one as an error. */
function answerWith(body: string): RequestListener {
  let calls = 0;
  return (_, response) => {
    calls += 1;
    response.writeHead(calls % 2 === 0 ? 200 : 500).end(body);
  };
}

/** Several connections make each call at a time, in a heap that holds little more than one such answer parsed. */
async function runInSmallHeap(tasks: readonly HeapTask[]): Promise<readonly HeapReport[]> {
  const reports: HeapReport[] = [];
  const worker = new Worker(new URL("./heap-worker.ts", import.meta.url), {
    workerData: tasks,
    resourceLimits: { maxOldGenerationSizeMb: 96 },
  });
  worker.on("message", (report: HeapReport) => reports.push(report));
  await once(worker, "exit");
  return reports;
}

test("8 MiB of anything fit into a small heap, and take no time to speak of", async () => {
  const tasks = bodies.map(async ([_, call, body]) => ({
    url: (await startWeb(answerWith(body))).url,
    call,
  }));
  const reports = await runInSmallHeap(await Promise.all(tasks));
  expect(reports.map(({ outcomes }, index) => [bodies[index]?.[0], outcomes.join(", ")])).toEqual(
    bodies.map(([name, , , expected]) => [name, `${expected}, Unavailable`]),
  );
  // Before there was a bound: 386 MiB and 4 seconds, for one answer.
  for (const { retainedMiB } of reports) expect(retainedMiB).toBeLessThan(64);
  for (const { cpuMs } of reports) expect(cpuMs).toBeLessThan(400);
}, 60_000);

/** A page of quotas that announces more than ever come. */
function quotaPage(page: number, size: number, text: string) {
  const data = Array.from({ length: size }, (_, index) => ({
    name: `${page}-${index}`,
    namespace: "n",
    displayRequest: text,
    displayLimit: "",
    createdAt: "",
  }));
  const pagination = { page, totalCount: 1_000_000, hasNext: true };
  return JSON.stringify({ data, dataCount: size, pagination });
}

test.each([
  { of: "many records", size: 1_000, text: "", reason: "more than 10000 records" },
  { of: "large records", size: 500, text: "x".repeat(4_000), reason: "more than 8388608 bytes" },
  { of: "a text without end", size: 1, text: "x".repeat(5_000), reason: "too long" },
])("pages of $of end", async ({ size, text, reason }) => {
  let pages = 0;
  const { url } = await startWeb((_, response) => {
    pages += 1;
    response.end(quotaPage(pages, size, text));
  });
  const client = clientOf({ url }, TOKEN);
  const query = { clusterId: 1, namespaces: [], filterNames: [] };
  const failure = await failureOf(client.listResourceQuotas(query));
  expect(failure.code).toBe("MalformedResponse");
  expect(failure.message).toContain(reason);
  expect(pages).toBeLessThanOrEqual(11);
});

test("large answers that never end leave room for small ones, and end with their deadline", async () => {
  const { url: large } = await startWeb((_, response) => {
    response.writeHead(200).write("x".repeat(200_000));
  });
  const { url: small } = await startWeb((_, response) => response.end('["pol-1"]'));
  const limits = { requestsPerSecond: 100, burst: 100, concurrency: 8, timeoutMs: 1_500 };
  const policies = { orgId: "o" };
  const hanging = Array.from({ length: 6 }, () =>
    failureOf(clientOf({ url: large }, { ...TOKEN, limits }).listPolicies(policies)),
  );
  const answered = await clientOf({ url: small }, TOKEN).listBindings("tpn");
  expect(answered).toEqual({ readable: true, policyIds: ["pol-1"] });
  expect((await Promise.all(hanging)).map(({ code }) => code)).toEqual(Array(6).fill("Timeout"));
  // What they held is free again.
  const whole = JSON.stringify([{ policyId: "a", name: "x".repeat(200_000) }]);
  const { url: honest } = await startWeb((_, response) => response.end(whole));
  const listings = Array.from({ length: 6 }, () =>
    clientOf({ url: honest }, TOKEN).listPolicies(policies),
  );
  expect(await Promise.all(listings)).toEqual(Array(6).fill([{ policyId: "a" }]));
});

test("large answers of one namespace that stall delay neither another namespace nor a ClusterConnection", async () => {
  const { url } = await startWeb((_, response) => {
    response.write(`[{"policyId":"a","name":"${"x".repeat(200_000)}`);
  });
  const whole = JSON.stringify([{ policyId: "a", name: "x".repeat(200_000) }]);
  const { url: honest } = await startWeb((_, response) => response.end(whole));
  const policies = { orgId: "o" };
  const hanging = Array.from({ length: 4 }, () =>
    failureOf(clientOf({ url }, { ...TOKEN, owner: "hostile" }).listPolicies(policies)),
  );
  await new Promise((resolve) => setTimeout(resolve, 200));
  let isOver = false;
  const ended = Promise.all(hanging).then(() => {
    isOver = true;
  });
  for (const owner of ["team-a", undefined])
    expect(await clientOf({ url: honest }, { ...TOKEN, owner }).listPolicies(policies)).toEqual([
      { policyId: "a" },
    ]);
  expect(isOver).toBe(false);
  await ended;
});

test("an owner with many claims lets others have their turn", () => {
  const budget = new ResponseMemoryLimiter(10);
  const granted: string[] = [];
  const claim = (owner: string, name: string) => {
    const release = budget.claim(owner, 10, () => {
      granted.push(name);
      queueMicrotask(() => release());
    });
  };
  for (let n = 0; n < 5; n += 1) claim("hostile", `h${n}`);
  claim("team-a", "a");
  claim("team-b", "b");
  claim("team-a", "a2");
  return Promise.resolve().then(async () => {
    for (let n = 0; n < 20; n += 1) await Promise.resolve();
    expect(granted).toEqual(["h0", "h1", "a", "b", "h2", "a2", "h3", "h4"]);
  });
});

test("room is given in the order of asking, to each owner once at a time", () => {
  const budget = new ResponseMemoryLimiter(10);
  const granted: string[] = [];
  const claim = (owner: object, name: string, bytes: number) =>
    budget.claim(owner, bytes, () => granted.push(name));
  const [a, b, c] = [{}, {}, {}];
  const first = claim(a, "a1", 6);
  const second = claim(a, "a2", 1);
  const third = claim(b, "b", 6);
  const fourth = claim(c, "c", 1);
  expect(granted).toEqual(["a1"]);
  first();
  first();
  expect(granted).toEqual(["a1", "a2", "b", "c"]);
  claim(a, "a3", 3);
  claim(b, "b2", 1);
  fourth();
  expect(granted).toHaveLength(4);
  second();
  expect(granted.at(-1)).toBe("a3");
  third();
  expect(granted.at(-1)).toBe("b2");
});
