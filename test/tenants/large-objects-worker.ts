/** Takes the largest ApiKeys that the API server accepts into the operator's cache, in a heap of its own. */
import { getHeapStatistics } from "node:v8";
import { parentPort, workerData } from "node:worker_threads";
import type { ApiKey } from "../../src/api/api-key.ts";
import { shrink } from "../../src/app/shrink.ts";
import { createStore } from "../../src/kube/store/memory-store.ts";
import { parseWatchLine, type WatchApi } from "../../src/kube/watch/watch-stream.ts";
import { apiKeyType } from "../../src/resources/resource-types.ts";
import { systemClock } from "../../src/util/time.ts";

const unused = () => Promise.reject(new Error("nothing is asked"));
const api: WatchApi = {
  baseURL: "http://localhost",
  openStream: unused,
  send: unused,
  clock: systemClock,
  userAgent: "test",
};

const entries = (count: number, size: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`e${n}`, "x".repeat(size)]));

/** 64 KiB of templates, 128 KiB of annotations for the Secret, 256 KiB of its own: all that is allowed. */
function largest(n: number): string {
  const metadata = {
    namespace: "hostile",
    name: `key-${n}`,
    uid: `uid-${n}`,
    resourceVersion: `${n + 1}`,
    generation: 1,
    annotations: entries(16, 16_000),
    labels: entries(32, 63),
  };
  const data = { secret: "${secret}", ...entries(4, 16_380) };
  const spec = {
    serviceAccountRef: { name: "ci" },
    secret: { data, annotations: entries(32, 4_096), labels: entries(32, 63) },
  };
  return JSON.stringify({ type: "ADDED", object: { metadata, spec } });
}

const store = createStore<ApiKey>({
  onListenerError: (error) => {
    throw error;
  },
});
const writer = store.openScope("");
writer.beginReplace()([], "0");
for (let n = 0; n < workerData; n += 1) {
  const input = parseWatchLine(api, apiKeyType, largest(n));
  if (input.kind === "Changed") writer.put(shrink(input.object, "", input.size));
}
parentPort?.postMessage({
  objects: store.size,
  usedMiB: Math.round(getHeapStatistics().used_heap_size / 2 ** 20),
});
