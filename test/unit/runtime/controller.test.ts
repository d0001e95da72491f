import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../../src/kube/resource.ts";
import { createStore } from "../../../src/kube/store/memory-store.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";
import { type Controller, createController } from "../../../src/runtime/controller.ts";
import type { ErrorOutcome, ErrorPolicy, Reconcile, Run } from "../../../src/runtime/result.ts";
import { watch } from "../../../src/runtime/watch.ts";
import type { Log, LogFields } from "../../../src/util/log.ts";
import type { Random } from "../../../src/util/random.ts";
import { HOUR, MINUTE, SECOND } from "../../../src/util/time.ts";
import type { Tracer } from "../../../src/util/trace.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

interface Thing extends KubeObject {
  readonly status?: string;
}

/** A failure that says itself what is to become of it. */
class Failure extends Error {
  readonly outcome: ErrorOutcome;
  constructor(outcome: ErrorOutcome) {
    super("failed");
    this.outcome = outcome;
  }
}

const errorPolicy: ErrorPolicy = (error) =>
  error instanceof Failure ? error.outcome : { kind: "SlowRetry" };

const random: Random = { fraction: () => 0.5, id: () => "pass-1" };

function recordingLog(lines: string[], base: LogFields = {}): Log {
  const at = (level: string) => (fields: LogFields, message: string) => {
    const { controller, namespace, name, reconcileId } = { ...base, ...fields };
    lines.push(
      [level, message, controller, namespace, name, reconcileId].filter(Boolean).join(" "),
    );
  };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (fields) => recordingLog(lines, { ...base, ...fields }),
  };
}

/** A tracer that keeps what each span came to. */
function recordingTracer(spans: object[]): Tracer {
  const span: Tracer["span"] = async (name, fields, work) => {
    const seen: Record<string, unknown> = { span: name, ...fields };
    spans.push(seen);
    return work({
      isRecording: true,
      set: (more) => void Object.assign(seen, more),
      fail: (type) => void Object.assign(seen, { failed: type }),
    });
  };
  return { span, childSpan: span };
}

interface Setting {
  readonly tracer?: Tracer;
  readonly reconcile?: Reconcile<Thing>;
  readonly concurrency?: number;
  readonly unsynced?: boolean;
  readonly gatherMs?: number;
}

function setUp({ reconcile, concurrency, unsynced, tracer, gatherMs }: Setting = {}) {
  const clock = createFakeClock();
  const onListenerError = (error: unknown) => {
    throw error;
  };
  const things = createStore<Thing>({ onListenerError });
  const others = createStore<KubeObject>({ onListenerError });
  const writer = things.openScope("");
  const otherWriter = others.openScope("");
  const metrics = createMetrics(new Registry());
  const lines: string[] = [];
  const passes: string[] = [];
  const gone: string[] = [];
  const stop = new AbortController();
  let version = 1;
  const thing = (name: string, more: Partial<Thing["metadata"]> = {}, status = ""): Thing => {
    version += 1;
    return {
      metadata: {
        namespace: "ns",
        name,
        uid: "u1",
        generation: 1,
        resourceVersion: `${version}`,
        ...more,
      },
      status,
    };
  };
  const controller = createController<Thing>({
    name: "Thing",
    store: things,
    reconcile: async (object, pass) => {
      passes.push(object.metadata.name);
      return (await reconcile?.(object, pass)) ?? {};
    },
    onGone: ({ name }) => gone.push(name),
    errorPolicy,
    watches: [
      watch(others, ({ key }) => [{ namespace: key.namespace, name: `of-${key.name}` }], gatherMs),
    ],
    ...(concurrency === undefined ? {} : { concurrency }),
    clock,
    random,
    log: recordingLog(lines),
    metrics,
    ...(tracer && { tracer }),
  });
  writer.beginReplace()([], "1");
  if (!unsynced) otherWriter.beginReplace()([], "1");
  controller.start(stop.signal);
  return {
    clock,
    things,
    writer,
    otherWriter,
    metrics,
    lines,
    passes,
    gone,
    stop,
    thing,
    controller,
  };
}

describe("a controller", () => {
  test("starts nothing before every store is synced", async () => {
    const { clock, writer, otherWriter, thing, passes } = setUp({ unsynced: true });
    writer.put(thing("a"));
    await clock.advance(MINUTE);
    expect(passes).toEqual([]);
    otherWriter.beginReplace()([], "1");
    await clock.advance(SECOND);
    expect(passes).toEqual(["a"]);
  });

  test("after a start, looks first at what has come or changed meanwhile", async () => {
    const { clock, writer, otherWriter, thing, passes } = setUp({ unsynced: true });
    const known = (name: string, generation = 1) =>
      ({ ...thing(name, { generation }), status: { observedGeneration: 1 } }) as unknown as Thing;
    for (const each of [known("a"), known("b"), known("changed", 2), known("c"), thing("new")])
      writer.put(each);
    otherWriter.beginReplace()([], "1");
    await clock.advance(SECOND);
    expect(passes).toEqual(["changed", "new", "a", "b", "c"]);
  });

  test("looks at an object again after every change but those of its status", async () => {
    const { clock, writer, thing, passes } = setUp();
    writer.put(thing("a"));
    await clock.settle();
    writer.put(thing("a", {}, "written by ourselves"));
    await clock.settle();
    expect(passes).toHaveLength(1);
    const changes = [
      { generation: 2 },
      { generation: 2, annotations: { rotate: "now" } },
      { generation: 2, labels: { a: "b" } },
      { generation: 2, finalizers: ["f"] },
      { generation: 2, finalizers: ["f"], deletionTimestamp: "2026-01-01T00:00:00Z" },
      { generation: 1, uid: "u2" },
    ];
    for (const change of changes) {
      writer.put(thing("a", change));
      await clock.settle();
    }
    expect(passes.length).toBeGreaterThanOrEqual(1 + changes.length);
  });

  test("looks at an object again that has gone back to an earlier status", async () => {
    const { clock, writer, thing, passes } = setUp();
    const early = thing("a", {}, "early");
    writer.put(early);
    writer.put(thing("a", {}, "written by ourselves"));
    await clock.settle();
    writer.beginReplace()([early], "2");
    await clock.settle();
    expect(passes).toEqual(["a", "a"]);
  });

  test("is woken by what its objects relate to", async () => {
    const { clock, writer, otherWriter, thing, passes } = setUp();
    writer.put(thing("of-x"));
    await clock.settle();
    otherWriter.put(thing("x"));
    await clock.settle();
    expect(passes).toEqual(["of-x", "of-x"]);
  });

  test("meets in one run what comes within the time to gather", async () => {
    const { clock, writer, otherWriter, thing, passes } = setUp({ gatherMs: SECOND });
    writer.put(thing("of-x"));
    await clock.settle();
    otherWriter.put(thing("x"));
    await clock.advance(SECOND - 1);
    otherWriter.put(thing("x"));
    expect(passes).toEqual(["of-x"]);
    await clock.advance(1);
    expect(passes).toEqual(["of-x", "of-x"]);
    await clock.advance(SECOND);
    expect(passes).toEqual(["of-x", "of-x"]);
  });

  test("forgets an object that is gone", async () => {
    const { clock, writer, thing, passes, gone } = setUp();
    writer.put(thing("a"));
    await clock.settle();
    writer.remove(thing("a"));
    await clock.advance(20 * HOUR);
    expect([passes, gone]).toEqual([["a"], ["a"]]);
  });

  test("looks at everything again with the resync", async () => {
    const { clock, writer, thing, passes } = setUp();
    writer.put(thing("a"));
    await clock.advance(9 * HOUR);
    expect(passes).toHaveLength(1);
    await clock.advance(HOUR);
    expect(passes).toHaveLength(2);
  });

  test("comes back when the reconciler asks for it", async () => {
    const { clock, writer, thing, passes } = setUp({
      reconcile: async () => ({ requeueAfterMs: 1_000 }),
    });
    writer.put(thing("a"));
    await clock.advance(3_500);
    expect(passes).toHaveLength(4);
  });

  test("waits for the store to see our own last write, though that changes the status alone", async () => {
    const { clock, things, writer, thing, passes, controller, metrics } = setUp();
    writer.put(thing("a"));
    await clock.settle();
    const written = thing("a", {}, "ours");
    things.note(written);
    controller.enqueue({ namespace: "ns", name: "a" });
    await clock.settle();
    expect(passes).toHaveLength(1);
    expect(await metrics.render()).toContain('stale_sync_skips_total{kind="Thing"} 1');
    writer.put(written);
    await clock.settle();
    expect(passes).toHaveLength(2);
  });

  test("never runs two passes of one object at once, and others beside it", async () => {
    const running: string[] = [];
    let most = 0;
    const world = setUp({
      concurrency: 5,
      reconcile: async ({ metadata: { name } }) => {
        expect(running).not.toContain(name);
        running.push(name);
        most = Math.max(most, running.length);
        await world.clock.sleep(1_000);
        running.splice(running.indexOf(name), 1);
        return {};
      },
    });
    for (let generation = 1; generation <= 5; generation += 1) {
      for (const name of ["a", "b", "c"]) world.writer.put(world.thing(name, { generation }));
      await world.clock.advance(100);
    }
    await world.clock.advance(5_000);
    expect(most).toBe(3);
    expect(world.passes).toHaveLength(6);
  });
});

describe("a failed pass", () => {
  async function failWith(outcome: ErrorOutcome, forMs: number) {
    const world = setUp({
      reconcile: async () => {
        throw new Failure(outcome);
      },
    });
    world.writer.put(world.thing("a"));
    await world.clock.advance(forMs);
    return world;
  }

  test.each<[string, ErrorOutcome, number, number, string]>([
    [
      "is retried at once after a conflict",
      { kind: "Conflict" },
      0,
      5,
      "debug reconcile hit a conflict",
    ],
    [
      "is retried with growing pauses",
      { kind: "Retry" },
      3_500,
      4,
      "warn reconcile failed, will retry",
    ],
    [
      "waits minutes where somebody must act",
      { kind: "SlowRetry" },
      3 * MINUTE,
      3,
      "error reconcile failed, will retry slowly",
    ],
    [
      "looks again every half hour all the same",
      { kind: "Terminal" },
      HOUR,
      3,
      "info reconcile failed, waiting for a change",
    ],
    [
      "looks again sooner where the failure says so",
      { kind: "Terminal", resyncMs: 5 * MINUTE },
      11 * MINUTE,
      3,
      "info reconcile failed, waiting for a change",
    ],
    [
      "waits for a change where nothing else helps",
      { kind: "Terminal" },
      25 * MINUTE,
      1,
      "info reconcile failed, waiting for a change",
    ],
  ])("%s", async (_, outcome, forMs, count, line) => {
    const { passes, lines } = await failWith(outcome, forMs);
    expect(passes).toHaveLength(count);
    expect(lines).toContain(`${line} Thing ns a pass-1`);
  });

  test("is not retried before the server allows it, whatever wakes the object", async () => {
    const notBefore = createFakeClock().now() + MINUTE;
    const { clock, writer, thing, passes } = await failWith({ kind: "Retry", notBefore }, 0);
    writer.put(thing("a", { labels: { team: "a" } }));
    await clock.advance(MINUTE - 1);
    expect(passes).toHaveLength(1);
    await clock.advance(1);
    expect(passes).toHaveLength(2);
  });

  test.each([
    ["a new spec", { generation: 2 }],
    ["an annotation", { annotations: { rotate: "now" } }],
    ["the deletion", { deletionTimestamp: "2026-01-01T00:00:00Z" }],
  ])("is retried at once when somebody asks for it by %s", async (_, metadata) => {
    const notBefore = createFakeClock().now() + MINUTE;
    const { clock, writer, thing, passes } = await failWith({ kind: "Retry", notBefore }, 0);
    writer.put(thing("a", metadata));
    await clock.settle();
    expect(passes).toHaveLength(2);
    writer.put(thing("a", { ...metadata, labels: { team: "a" } }));
    await clock.settle();
    expect(passes).toHaveLength(2);
  });

  test("is retried after five minutes however long the server wants to be left alone", async () => {
    const notBefore = createFakeClock().now() + 24 * HOUR;
    const { clock, passes } = await failWith({ kind: "Retry", notBefore }, 0);
    await clock.advance(5 * MINUTE);
    expect(passes).toHaveLength(2);
  });

  test("is counted", async () => {
    const { metrics } = await failWith({ kind: "Terminal" }, 0);
    const text = await metrics.render();
    expect(text).toContain(
      'controller_runtime_reconcile_total{controller="Thing",result="error"} 1',
    );
    expect(text).toContain(
      'controller_runtime_terminal_reconcile_errors_total{controller="Thing"} 1',
    );
  });
});

describe("a pass that does not end", () => {
  function hanging(heedsSignal: boolean) {
    let signal: AbortSignal | undefined;
    let reportSignal: AbortSignal | undefined;
    const world = setUp({
      reconcile: (_: Thing, pass: Run) => {
        ({ signal, reportSignal } = pass);
        return new Promise((_resolve, reject) => {
          if (heedsSignal) pass.signal.addEventListener("abort", () => reject(pass.signal.reason));
        });
      },
    });
    world.writer.put(world.thing("a"));
    return { ...world, signal: () => signal, reportSignal: () => reportSignal };
  }

  test("is aborted after two minutes", async () => {
    const { clock, signal, lines } = hanging(true);
    await clock.advance(2 * MINUTE - 1);
    expect(signal()?.aborted).toBe(false);
    await clock.advance(1);
    expect(signal()?.aborted).toBe(true);
    expect(lines).toContain("warn reconcile timed out Thing ns a pass-1");
  });

  test("can be reported for another 15 seconds, unless the process stops", async () => {
    const { clock, reportSignal } = hanging(false);
    await clock.advance(2 * MINUTE + 15 * SECOND - 1);
    expect(reportSignal()?.aborted).toBe(false);
    await clock.advance(1);
    expect(reportSignal()?.aborted).toBe(true);

    const stopping = hanging(false);
    await stopping.clock.advance(2 * MINUTE);
    const drained = stopping.controller.drain(0);
    await stopping.clock.advance(SECOND);
    expect([stopping.reportSignal()?.aborted, await drained]).toEqual([true, false]);
  });

  test("shows as silence", async () => {
    const { clock, controller } = hanging(false);
    await clock.advance(10 * MINUTE);
    expect(controller.silentMs).toBe(10 * MINUTE);
  });

  test("holds up a drain for the grace period and a second", async () => {
    const { clock, controller, signal } = hanging(false);
    await clock.settle();
    const drained = controller.drain(5_000);
    await clock.advance(4_999);
    expect(signal()?.aborted).toBe(false);
    await clock.advance(1_001);
    expect([signal()?.aborted, await drained]).toEqual([true, false]);
  });
});

describe("a drain", () => {
  test("lets running passes end and starts nothing more", async () => {
    let sawAbort = false;
    const world = setUp({
      reconcile: async (_, { signal }) => {
        await world.clock.sleep(2_000);
        sawAbort = signal.aborted;
        return { requeueAfterMs: 1 };
      },
    });
    world.writer.put(world.thing("a"));
    world.writer.put(world.thing("b"));
    await world.clock.settle();
    world.stop.abort();
    const drained = world.controller.drain(5_000);
    await world.clock.advance(10_000);
    expect([await drained, world.passes, sawAbort]).toEqual([true, ["a"], false]);
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("of an idle controller ends at once, and silence is no failure of an idle one", async () => {
    const { clock, controller } = setUp();
    await clock.advance(HOUR);
    expect(controller.silentMs).toBe(0);
    expect(await controller.drain(0)).toBe(true);
  });
});

/** L3: a thousand objects that always fail must not slow down a healthy new one. */
describe("a new object among a thousand failing ones", () => {
  const passMs = 100;

  async function timeToReady(failing: number): Promise<number> {
    let readyAt: number | undefined;
    const world = setUp({
      concurrency: 2,
      reconcile: async ({ metadata: { name } }) => {
        await world.clock.sleep(passMs);
        if (name.startsWith("bad")) throw new Failure({ kind: "Retry" });
        // Needs three passes, as an object that waits for something of its own does.
        const mine = world.passes.filter((each) => each === name).length;
        if (mine < 3) return { requeueAfterMs: 500 };
        readyAt ??= world.clock.monotonic();
        return {};
      },
    });
    for (let n = 0; n < failing; n += 1) world.writer.put(world.thing(`bad-${n}`));
    await world.clock.advance(2 * MINUTE);
    const startedAt = world.clock.monotonic();
    world.writer.put(world.thing("good"));
    await world.clock.advance(MINUTE);
    return (readyAt ?? Infinity) - startedAt;
  }

  test("is ready in at most twice the time", async () => {
    expect(await timeToReady(1_000)).toBeLessThanOrEqual(2 * (await timeToReady(0)));
  });
});

test("the metrics of a controller start at zero and follow its queue", async () => {
  const world: { controller: Controller } & ReturnType<typeof setUp> = setUp();
  world.writer.put(world.thing("a"));
  await world.clock.settle();
  const text = await world.metrics.render();
  expect(text).toContain(
    'controller_runtime_reconcile_total{controller="Thing",result="success"} 1',
  );
  expect(text).toContain('controller_runtime_reconcile_total{controller="Thing",result="error"} 0');
  expect(text).toContain('workqueue_adds_total{name="Thing"} 1');
  expect(text).toContain('workqueue_depth{name="Thing"} 0');
});

test("a pass is a span with its object and what became of it", async () => {
  const spans: object[] = [];
  const ends: readonly (ErrorOutcome | undefined)[] = [
    undefined,
    { kind: "Conflict" },
    { kind: "Terminal" },
  ];
  const { clock, writer, thing } = setUp({
    tracer: recordingTracer(spans),
    reconcile: async () => {
      const outcome = ends[spans.length - 1];
      if (outcome !== undefined) throw new Failure(outcome);
      return { requeueAfterMs: MINUTE };
    },
  });
  writer.put(thing("a"));
  await clock.advance(HOUR);
  const pass = { span: "reconcile Thing", controller: "Thing", namespace: "ns", name: "a" };
  const fields = { ...pass, uid: "u1", generation: 1, reconcileId: "pass-1" };
  expect(spans.slice(0, 3)).toEqual([
    { ...fields, outcome: "Success", requeueAfterMs: MINUTE },
    { ...fields, outcome: "Conflict" },
    { ...fields, outcome: "Terminal", failed: "Error" },
  ]);
});

test("a run is told that it was asked for, through a conflict, and its retries are not", async () => {
  const told: (boolean | undefined)[] = [];
  const outcomes: ErrorOutcome[] = [{ kind: "Conflict" }, { kind: "Retry" }];
  const world = setUp({
    reconcile: async (_, { isRequested }) => {
      told.push(isRequested);
      const outcome = outcomes.pop();
      if (told.length > 1 && outcome !== undefined) throw new Failure(outcome);
      if (told.length === 1 && outcome !== undefined) outcomes.push(outcome);
      return {};
    },
  });
  await world.clock.advance(SECOND);
  world.writer.put(world.thing("a"));
  await world.clock.advance(SECOND);
  outcomes.reverse();
  world.writer.put(world.thing("a", { annotations: { rotate: "now" } }));
  await world.clock.advance(MINUTE);
  expect(told).toEqual([false, true, true, false]);
});
