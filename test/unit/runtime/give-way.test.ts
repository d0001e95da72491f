import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { KubeObject } from "../../../src/kube/resource.ts";
import { createStore } from "../../../src/kube/store/memory-store.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";
import { createController } from "../../../src/runtime/controller.ts";
import { silentLog } from "../../../src/util/log.ts";
import { systemRandom } from "../../../src/util/random.ts";
import { systemClock } from "../../../src/util/time.ts";

const OBJECTS = 500;

test("runs that wait for nothing do not keep sockets and timers waiting until all are done", async () => {
  const store = createStore<KubeObject>({
    onListenerError: (error) => {
      throw error;
    },
  });
  const objects = Array.from({ length: OBJECTS }, (_, n) => ({
    metadata: { namespace: "ns", name: `object-${n}`, uid: `u${n}`, resourceVersion: "1" },
  }));
  let runs = 0;
  const controller = createController({
    name: "Thing",
    store,
    reconcile: async () => {
      const until = performance.now() + 1;
      while (performance.now() < until);
      runs += 1;
      return {};
    },
    errorPolicy: () => ({ kind: "Retry" }),
    concurrency: 8,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    metrics: createMetrics(new Registry()),
  });
  const runsAtTurns: number[] = [];
  const watch = setInterval(() => runsAtTurns.push(runs), 1);
  const stop = new AbortController();
  store.openScope("").beginReplace()(objects, "1");
  controller.start(stop.signal);
  await controller.whenIdle();
  clearInterval(watch);
  stop.abort();
  expect(runs).toBe(OBJECTS);
  expect(runsAtTurns.filter((seen) => seen > 0 && seen < OBJECTS).length).toBeGreaterThan(10);
});
