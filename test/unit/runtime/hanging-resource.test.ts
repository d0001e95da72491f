/** A thousand objects of one tenant wait for a console that hangs. Others go on, and what is urgent does so at once. */
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { KubeObject } from "../../../src/kube/resource.ts";
import { createStore } from "../../../src/kube/store/memory-store.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";
import { createController } from "../../../src/runtime/controller.ts";
import { silentLog } from "../../../src/util/log.ts";
import { systemRandom } from "../../../src/util/random.ts";
import { MINUTE, SECOND } from "../../../src/util/time.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

interface Account extends KubeObject {
  readonly spec: { readonly connection: string; readonly access?: "Granted" | "Revoked" };
}

const HANGING = 1_000;
/** What one reconcile takes at a console that works. */
const WORK_MS = 100;
const TIMEOUT_MS = 30 * SECOND;

let version = 1;

function account(namespace: string, name: string, spec: Account["spec"]): Account {
  version += 1;
  return { metadata: { namespace, name, uid: name, resourceVersion: `${version}` }, spec };
}

function setUp(concurrency: number) {
  const clock = createFakeClock();
  const onListenerError = (error: unknown) => {
    throw error;
  };
  const accounts = createStore<Account>({ onListenerError });
  const writer = accounts.openScope("");
  const done = new Map<string, number>();
  const controller = createController<Account>({
    name: "ServiceAccount",
    store: accounts,
    reconcile: async ({ metadata, spec }) => {
      await clock.sleep(spec.connection === "hangs" ? TIMEOUT_MS : WORK_MS);
      if (spec.connection === "hangs") throw new Error("no answer");
      done.set(metadata.name, clock.monotonic());
      return {};
    },
    errorPolicy: () => ({ kind: "Retry" }),
    concurrency,
    isUrgent: ({ spec }) => spec.access === "Revoked",
    clock,
    random: systemRandom,
    log: silentLog,
    metrics: createMetrics(new Registry()),
  });
  writer.beginReplace()([], "1");
  controller.start(new AbortController().signal);
  return { clock, writer, done };
}

test.each([4, 16])(
  "with %i workers: another tenant revokes access within 2 s, and other work continues",
  async (concurrency) => {
    const { clock, writer, done } = setUp(concurrency);
    for (let n = 0; n < HANGING; n += 1)
      writer.put(
        account("hostile", `h${n}`, {
          connection: "hangs",
          access: n % 2 === 0 ? "Revoked" : "Granted",
        }),
      );
    await clock.advance(MINUTE);

    const waits: number[] = [];
    for (let n = 0; n < 20; n += 1) {
      const since = clock.monotonic();
      writer.put(account("victim", `plain${n}`, { connection: "works" }));
      writer.put(account("victim", `v${n}`, { connection: "works", access: "Revoked" }));
      await clock.advance(2 * SECOND);
      waits.push((done.get(`v${n}`) ?? Number.POSITIVE_INFINITY) - since);
    }
    expect(Math.max(...waits)).toBeLessThanOrEqual(2 * SECOND);
    expect([...done.keys()].filter((name) => name.startsWith("plain"))).toHaveLength(20);
  },
);
