/** Anybody with `edit` may create objects as large as the API server takes them. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";

/** 200 MiB as the API server stores them. */
const OBJECTS = 500;

test("hundreds of the largest ApiKeys fit into a small heap", async () => {
  const worker = new Worker(new URL("./large-objects-worker.ts", import.meta.url), {
    workerData: OBJECTS,
    resourceLimits: { maxOldGenerationSizeMb: 96 },
  });
  const [report] = await once(worker, "message");
  expect(report.objects).toBe(OBJECTS);
}, 60_000);
