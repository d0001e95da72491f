/** Makes calls to a hostile console in a heap of its own, and reports how they ended and what each cost. */
import { getHeapStatistics } from "node:v8";
import { parentPort, workerData } from "node:worker_threads";
import { createIamClient } from "../../src/console/client/console-client.ts";
import { isIamError } from "../../src/console/errors.ts";
import { Redacted } from "../../src/util/redacted.ts";
import { systemClock } from "../../src/util/time.ts";

export interface HeapTask {
  readonly url: string;
  readonly call: "listPolicies" | "listServiceAccounts" | "getServiceAccount";
}

export interface HeapReport {
  /** Error codes, or how Many records there were. */
  readonly outcomes: readonly string[];
  /** Processor time of this thread for each call. */
  readonly cpuMs: number;
  readonly retainedMiB: number;
}

/** How many connections make the call at the same time. */
const CLIENTS = 8;

function makeCall({ url, call }: HeapTask) {
  const client = createIamClient({
    baseURL: url,
    domainId: "org",
    domainName: "org",
    credentials: { kind: "token", token: new Redacted("token") },
    limits: { requestsPerSecond: 100, burst: 100, concurrency: 8, timeoutMs: 30_000 },
    userAgent: "test",
    clock: systemClock,
    random: { fraction: () => 0.5, id: () => "id" },
  });
  switch (call) {
    case "listPolicies":
      return client.listPolicies({ orgId: "org" });
    case "listServiceAccounts":
      return client.listServiceAccounts();
    case "getServiceAccount":
      return client.getServiceAccount("sa-1").then((found) => found?.keyIds ?? []);
  }
}

async function run(task: HeapTask): Promise<HeapReport> {
  const before = process.threadCpuUsage();
  const settled = await Promise.allSettled(Array.from({ length: CLIENTS }, () => makeCall(task)));
  const { user, system } = process.threadCpuUsage(before);
  const outcomes = settled.map((one) => {
    if (one.status === "fulfilled") return one.value.length < 10 ? "Few records" : "Many records";
    return isIamError(one.reason) ? one.reason.code : String(one.reason);
  });
  return {
    outcomes: [...new Set(outcomes)].sort(),
    cpuMs: Math.round((user + system) / 1_000 / CLIENTS),
    retainedMiB: Math.round(getHeapStatistics().used_heap_size / 2 ** 20),
  };
}

for (const task of workerData as readonly HeapTask[]) parentPort?.postMessage(await run(task));
process.exit();
