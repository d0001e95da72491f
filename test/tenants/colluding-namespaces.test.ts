/** Namespaces with hanging consoles revoke access again and again, to occupy the workers that revoke access. */
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { KubeObject } from "../../src/kube/resource.ts";
import { createStore } from "../../src/kube/store/memory-store.ts";
import { createMetrics } from "../../src/observability/metrics.ts";
import { createController } from "../../src/runtime/controller.ts";
import { silentLog } from "../../src/util/log.ts";
import { systemRandom } from "../../src/util/random.ts";
import { MINUTE, SECOND } from "../../src/util/time.ts";
import { SEEDED } from "../../tools/iam-server/seed.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { clientOf, failureOf, startConsole } from "../unit/console/clients.ts";

const CALL_MS = 5 * SECOND;
const WORK_MS = 100;
/** As of PolicyBindings in the chart: 4 workers, and 2 that are reserved. */
const WORKERS = 4;

let version = 1;
const account = (namespace: string, name: string): KubeObject => {
  version += 1;
  return { metadata: { namespace, name, uid: name, resourceVersion: `${version}` } };
};

function setUp() {
  const clock = createFakeClock();
  const onListenerError = (error: unknown) => {
    throw error;
  };
  const accounts = createStore<KubeObject>({ onListenerError });
  const writer = accounts.openScope("");
  const done = new Map<string, number>();
  const hanging = { isOver: false };
  const running = new Map<string, number>();
  const controller = createController<KubeObject>({
    name: "PolicyBinding",
    store: accounts,
    reconcile: async ({ metadata: { namespace = "", name } }) => {
      running.set(namespace, (running.get(namespace) ?? 0) + 1);
      try {
        const hangs = namespace.startsWith("hostile") && !hanging.isOver;
        await clock.sleep(hangs ? CALL_MS : WORK_MS);
        if (hangs) throw new Error("timed out");
        done.set(name, clock.monotonic());
        return {};
      } finally {
        running.set(namespace, (running.get(namespace) ?? 0) - 1);
      }
    },
    errorPolicy: () => ({ kind: "Retry" }),
    concurrency: WORKERS,
    isUrgent: () => true,
    clock,
    random: systemRandom,
    log: silentLog,
    metrics: createMetrics(new Registry()),
  });
  writer.beginReplace()([], "1");
  controller.start(new AbortController().signal);
  return { clock, writer, done, running, hanging };
}

test.each([3, 20])(
  "%i namespaces with hanging consoles leave workers free to revoke access in another one",
  async (namespaces) => {
    const { clock, writer, done, running, hanging } = setUp();
    for (let n = 0; n < 50 * namespaces; n += 1)
      writer.put(account(`hostile-${n % namespaces}`, `h${n}`));
    // Until each of them had its first call time out.
    await clock.advance(2 * MINUTE);
    const waits: number[] = [];
    for (let n = 0; n < 30; n += 1) {
      const since = clock.monotonic();
      writer.put(account("victim", `v${n}`));
      await clock.advance(2 * SECOND);
      waits.push((done.get(`v${n}`) ?? Number.POSITIVE_INFINITY) - since);
      const held = [...running].filter(([name, count]) => name !== "victim" && count > 0);
      expect(held.length).toBeLessThanOrEqual(3);
      expect(Math.max(...held.map(([, count]) => count), 0)).toBeLessThanOrEqual(1);
    }
    expect(Math.max(...waits)).toBeLessThanOrEqual(2 * WORK_MS);
    hanging.isOver = true;
    await clock.advance(15 * MINUTE);
    expect([...done.keys()].filter((name) => name.startsWith("h"))).toHaveLength(50 * namespaces);
  },
);

test("an urgent call ends within 5 s, whatever the limits and the other calls of its connection", async () => {
  const server = await startConsole();
  const limits = { requestsPerSecond: 0.1, burst: 2, concurrency: 1, timeoutMs: 30_000 };
  const client = clientOf(server, { limits });
  await client.authenticate();
  server.faults.add({
    operation: "listPolicies",
    fault: { kind: "Silence", when: "BeforeCommit" },
    times: "always",
  });
  const others = Array.from({ length: 5 }, () =>
    client.listPolicies({ orgId: SEEDED.orgId }).catch(() => undefined),
  );
  const bindings = { tpn: "tpn:r:o:p:sa/sa-1", orgId: SEEDED.orgId, policyIds: [] };
  const since = Date.now();
  // It gets through at once, though the one slot is taken by a call that hangs.
  await client.urgent.syncBindings(bindings).catch(() => undefined);
  expect(server.requests.count("syncBindings")).toBe(1);
  expect(Date.now() - since).toBeLessThan(2_000);
  const failure = await failureOf(client.urgent.listPolicies({ orgId: SEEDED.orgId }));
  expect(failure).toMatchObject({ code: "Timeout", sent: true });
  expect(Date.now() - since).toBeLessThan(8_000);
  await client.close();
  await Promise.all(others);
});
