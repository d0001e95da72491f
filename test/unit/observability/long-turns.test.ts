/** Which reconcile is named when the event loop was delayed. */
import { expect, test } from "vitest";
import { LongTurns } from "../../../src/observability/long-turns.ts";
import { noTracer } from "../../../src/util/trace.ts";

/** A process whose time moves only when told to, so a piece of work takes as long as a test says. */
function start() {
  let now = 0;
  let timers: { readonly dueAt: number; readonly callback: () => void }[] = [];
  const long: string[] = [];
  const turns = new LongTurns({
    clock: {
      monotonic: () => now,
      setTimer: (ms, callback) => {
        timers.push({ dueAt: now + ms, callback });
        return () => undefined;
      },
    },
    onLongTurn: ({ controller, namespace }, ms) => long.push(`${controller}/${namespace} ${ms}`),
  });
  const tracer = turns.measure(noTracer);
  return {
    long,
    get timers() {
      return timers.length;
    },
    /** Works without a turn of the event loop. */
    work: (ms: number) => {
      now += ms;
    },
    reconcile: (namespace: string, work: () => Promise<unknown>) =>
      tracer.span("reconcile ApiKey", { controller: "ApiKey", namespace }, work),
    call: (answer: Promise<unknown>) => tracer.childSpan("call", {}, () => answer),
    /** The event loop's next turn: timers that are due, then what waits for them. */
    async turn(ms = 20) {
      now += ms;
      const due = timers.filter(({ dueAt }) => dueAt <= now);
      timers = timers.filter(({ dueAt }) => dueAt > now);
      for (const { callback } of due) callback();
      for (let index = 0; index < 20; index += 1) await Promise.resolve();
    },
  };
}

test("a reconcile that works for more than 50 ms is named, not one that waits meanwhile", async () => {
  const world = start();
  const answer = Promise.withResolvers<void>();
  const waiting = world.reconcile("patient", () => world.call(answer.promise));
  const working = world.reconcile("hostile", async () => world.work(120));
  await working;
  await world.turn(0);
  answer.resolve();
  await waiting;
  expect(world.long).toEqual(["ApiKey/hostile 100"]);
});

test("work after the answer to a call counts for the reconcile that made the call", async () => {
  const world = start();
  const answers = new Map<string, () => void>();
  const runs = ["a", "b", "c"].map((namespace) =>
    world.reconcile(namespace, async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      answers.set(namespace, resolve);
      await world.call(promise);
      if (namespace === "b") world.work(200);
      await world.call(Promise.resolve());
    }),
  );
  await world.turn();
  for (const answer of answers.values()) answer();
  await Promise.all(runs);
  await world.turn(0);
  expect(world.long).toEqual(["ApiKey/b 180"]);
});

test("a delay of 50 ms is not reported, and a delay while all reconciles wait is nobody's", async () => {
  const world = start();
  const answer = Promise.withResolvers<void>();
  const waiting = world.reconcile("patient", () => world.call(answer.promise));
  await world.turn(70);
  expect(world.long).toEqual([]);
  await world.turn(71);
  expect(world.long).toEqual(["/ 51"]);
  answer.resolve();
  await waiting;
});

test("without a reconcile, no timer runs", async () => {
  const world = start();
  expect(world.timers).toBe(0);
  await world.reconcile("ns", async () => undefined);
  expect(world.timers).toBe(1);
  await world.turn();
  expect(world.timers).toBe(0);
});

test("at most a hundred namespaces are named", async () => {
  const world = start();
  for (let index = 0; index < 102; index += 1) {
    await world.reconcile(`ns-${index}`, async () => world.work(100));
    await world.turn(0);
  }
  expect(world.long.slice(99)).toEqual(["ApiKey/ns-99 80", "ApiKey/ 80", "ApiKey/ 80"]);
  await world.reconcile("ns-5", async () => world.work(100));
  await world.turn(0);
  expect(world.long.at(-1)).toBe("ApiKey/ns-5 80");
});
