import { describe, expect, test } from "vitest";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { KubeError } from "../../../src/kube/errors.ts";
import type { EventNote, EventTarget } from "../../../src/kube/events/event-recorder.ts";
import { EventCorrelator } from "../../../src/kube/events/event-series.ts";
import { createEventWriter } from "../../../src/kube/events/event-writer.ts";
import type { KubeObject } from "../../../src/kube/resource.ts";
import { eventType } from "../../../src/kube/resource-types.ts";
import { silentLog } from "../../../src/util/log.ts";
import { systemRandom } from "../../../src/util/random.ts";
import { MINUTE, systemClock } from "../../../src/util/time.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { useNamespace } from "./real-cluster.ts";

const target: EventTarget = {
  apiVersion: "iam-operator.io/v1alpha1",
  kind: "ApiKey",
  metadata: { namespace: "ns", name: "ci", uid: "u1", resourceVersion: "7" },
};

function event(note = "Issued key k1", reason = "KeyIssued"): EventNote {
  return { type: "Normal", reason, action: "IssueKey", note };
}

type Written = KubeObject & {
  note?: string;
  reportingInstance?: string;
  series?: { count: number };
};

/** Only as much of an API server as a recorder writes to. */
function setUp(refuse?: () => KubeError | undefined) {
  const clock = createFakeClock();
  const events = new Map<string, Written>();
  const calls: string[] = [];
  let dropped = 0;
  const check = (verb: string) => {
    calls.push(verb);
    const error = refuse?.();
    if (error !== undefined) throw error;
  };
  const client = {
    async create(_: unknown, object: Written) {
      check("create");
      events.set(object.metadata.name, object);
      return object;
    },
    async mergePatch(_: unknown, { name }: { name: string }, patch: object) {
      check("patch");
      const old = events.get(name);
      if (old === undefined) throw new KubeError("NotFound", "gone");
      events.set(name, { ...old, ...patch });
    },
  } as unknown as KubeClient;
  const writer = createEventWriter({
    client,
    instance: "iam-operator-0",
    clock,
    random: systemRandom,
    log: silentLog,
    onDropped: () => {
      dropped += 1;
    },
  });
  const record = async (note: EventNote, about = target) => {
    writer.record(about, note);
    await clock.settle();
  };
  const seen = () =>
    [...events.values()].map(({ note, series }) => `${note}${series ? ` ×${series.count}` : ""}`);
  return { clock, writer, record, events, calls, seen, dropped: () => dropped };
}

describe("an event recorder", () => {
  test("writes an event", async () => {
    const { record, events } = setUp();
    await record(event());
    expect([...events.values()]).toEqual([
      {
        apiVersion: "events.k8s.io/v1",
        kind: "Event",
        metadata: { namespace: "ns", name: expect.stringMatching(/^ci\.[a-z0-9]{12}$/) },
        eventTime: "2026-01-01T00:00:00.000000Z",
        reportingController: "iam-operator.io/iam-operator",
        reportingInstance: "iam-operator-0",
        type: "Normal",
        reason: "KeyIssued",
        action: "IssueKey",
        note: "Issued key k1",
        regarding: {
          apiVersion: "iam-operator.io/v1alpha1",
          kind: "ApiKey",
          namespace: "ns",
          name: "ci",
          uid: "u1",
          resourceVersion: "7",
        },
      },
    ]);
  });

  test("merges repetitions into a series, for ten minutes", async () => {
    const { clock, record, seen } = setUp();
    await record(event());
    await record(event());
    await clock.advance(9 * MINUTE);
    await record(event());
    expect(seen()).toEqual(["Issued key k1 ×3"]);
    await clock.advance(11 * MINUTE);
    await record(event());
    expect(seen()).toEqual(["Issued key k1 ×3", "Issued key k1"]);
  });

  test("tells objects apart that were created anew under their name", async () => {
    const { record, seen } = setUp();
    await record(event());
    await record(event(), { ...target, metadata: { ...target.metadata, uid: "u2" } });
    expect(seen()).toEqual(["Issued key k1", "Issued key k1"]);
  });

  test("merges events that differ in their note alone after the tenth", async () => {
    const { record, seen } = setUp();
    for (let n = 1; n <= 14; n += 1) await record(event(`note ${n}`));
    expect(seen().slice(9)).toEqual(["note 10", "note 11 ×4"]);
  });

  test("writes 25 events of an object, then one in five minutes, and counts all of them", async () => {
    const { clock, record, calls, seen, dropped } = setUp();
    for (let n = 1; n <= 40; n += 1) await record(event());
    expect([calls.length, dropped()]).toEqual([25, 15]);
    await clock.advance(5 * MINUTE);
    await record(event());
    await record(event());
    expect([calls.length, seen()]).toEqual([26, ["Issued key k1 ×41"]]);
    await record(event(), {
      ...target,
      metadata: { ...target.metadata, name: "other", uid: "u2" },
    });
    expect(calls).toHaveLength(27);
  });

  test("writes an event that is gone again", async () => {
    const { record, events, seen } = setUp();
    await record(event());
    events.clear();
    await record(event());
    expect(seen()).toEqual(["Issued key k1 ×2"]);
  });

  test("fails nobody when the server refuses, and goes on with the next event", async () => {
    let down = true;
    const { record, seen, dropped } = setUp(() =>
      down ? new KubeError("Forbidden", "the namespace is being deleted") : undefined,
    );
    await record(event("first"));
    down = false;
    await record(event("second"));
    expect([seen(), dropped()]).toEqual([["second"], 1]);
  });

  test("writes none before the server's Retry-After is over, but does not hold up the end", async () => {
    const refused = { at: 0 };
    const { clock, writer, record, calls, seen } = setUp(() =>
      calls.length === 1
        ? new KubeError("RateLimited", "too many requests", { status: 429, retryAt: refused.at })
        : undefined,
    );
    refused.at = clock.now() + 2_000;
    await record(event("first"));
    await record(event("second"));
    await clock.advance(1_999);
    expect(seen()).toEqual([]);
    await clock.advance(1);
    expect(seen()).toEqual(["second"]);

    calls.length = 0;
    refused.at = clock.now() + MINUTE;
    await record(event("third"));
    await record(event("fourth"));
    const flushing = writer.flush(1_000);
    await clock.advance(1_000);
    await flushing;
    await clock.settle();
    expect(seen()).toEqual(["second", "fourth"]);
    expect(clock.pendingTimers).toBe(0);
  });

  test("keeps its memory and its queue bounded", async () => {
    const { clock, writer, calls, dropped } = setUp();
    for (let n = 0; n < 6_000; n += 1) {
      const metadata = { ...target.metadata, name: `k${n}`, uid: `u${n}` };
      writer.record({ ...target, metadata }, event());
    }
    expect(dropped()).toBe(5_000);
    await clock.settle();
    expect(calls).toHaveLength(1_000);
  });

  test("bounds what it writes between characters", async () => {
    const { record, events } = setUp();
    await record(event("ü".repeat(2_000)));
    const [written] = events.values();
    expect(Buffer.byteLength(written?.note ?? "")).toBeLessThanOrEqual(1_024);
    expect(written?.note).toMatch(/^ü+…$/);
  });

  test("flushes, but not forever", async () => {
    const world = setUp();
    world.writer.record(target, event());
    await world.writer.flush(1_000);
    expect(world.seen()).toEqual(["Issued key k1"]);
    expect(world.clock.pendingTimers).toBe(0);

    const stuck = createEventWriter({
      client: { create: () => new Promise(() => undefined) } as unknown as KubeClient,
      instance: "i",
      clock: world.clock,
      random: systemRandom,
      log: silentLog,
    });
    stuck.record(target, event());
    let flushed = false;
    const flushing = stuck.flush(1_000).then(() => {
      flushed = true;
    });
    await world.clock.advance(999);
    expect(flushed).toBe(false);
    await world.clock.advance(1);
    await flushing;
  });
});

describe("on a real API server", () => {
  const own = useNamespace("events");

  const writerOn = (dropped: string[]) =>
    createEventWriter({
      client: own().client,
      instance: "iam-operator-0",
      clock: systemClock,
      random: systemRandom,
      log: { ...silentLog, debug: ({ err }) => void dropped.push(String(err)) },
    });
  const summary = (events: readonly KubeObject[]) =>
    (events as readonly Written[]).map(({ note, series }) => ({ note, count: series?.count }));

  test("events and series are accepted, of the longest names and notes too", async () => {
    const dropped: string[] = [];
    const writer = writerOn(dropped);
    const about = (name: string) => ({
      ...target,
      metadata: { ...target.metadata, namespace: own().namespace, name },
    });
    writer.record(about("ci"), event("once"));
    await writer.flush(10_000);
    for (let n = 0; n < 3; n += 1) {
      writer.record(about("ci"), event("again"));
      await writer.flush(10_000);
    }
    writer.record(about("ci"), event("together"));
    writer.record(about("ci"), event("together"));
    writer.record(about(`${"a.".repeat(126)}a`), event("é".repeat(5_000)));
    await writer.flush(10_000);
    expect(dropped).toEqual([]);
    const events = summary(await own().client.list(eventType, { namespace: own().namespace }));
    expect(events).toHaveLength(4);
    expect(events).toContainEqual({ note: "once", count: undefined });
    expect(events).toContainEqual({ note: "again", count: 3 });
    expect(events).toContainEqual({ note: "together", count: 2 });
  });

  test("events of cluster-scoped objects go to the default namespace", async () => {
    const dropped: string[] = [];
    const writer = writerOn(dropped);
    writer.record(
      { ...target, kind: "ClusterConnection", metadata: { name: "console", uid: "u3" } },
      event("reachable"),
    );
    await writer.flush(10_000);
    expect(dropped).toEqual([]);
    const events = summary(await own().client.list(eventType, { namespace: "default" }));
    expect(events).toContainEqual({ note: "reachable", count: undefined });
  });
});

test("of an object that an event is about, only what names it is remembered", () => {
  const object = { ...target, metadata: { ...target.metadata, managedFields: [{}] }, spec: {} };
  const series = new EventCorrelator(createFakeClock()).add(object, event());
  expect(series?.target).toEqual(target);
});
