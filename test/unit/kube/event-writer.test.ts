import { describe, expect, test } from "vitest";
import type { EventNote, EventTarget } from "../../../src/kube/events/event-recorder.ts";
import { EventCorrelator } from "../../../src/kube/events/event-series.ts";
import { createEventWriter } from "../../../src/kube/events/event-writer.ts";
import { keyOf } from "../../../src/kube/resource.ts";
import { type ClusterEvent, eventType, namespaceType } from "../../../src/kube/resource-types.ts";
import { type Log, silentLog } from "../../../src/util/log.ts";
import { MINUTE, SECOND } from "../../../src/util/time.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { KubeWorld } from "../../support/kube-world.ts";

const target: EventTarget = {
  apiVersion: "iam-operator.io/v1alpha1",
  kind: "ApiKey",
  metadata: { namespace: "ns", name: "ci", uid: "u1", resourceVersion: "7" },
};

function event(note = "Issued key k1", reason = "KeyIssued"): EventNote {
  return { type: "Normal", reason, action: "IssueKey", note };
}

const standIn: EventTarget = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { namespace: "iam-operator-system", name: "iam-operator" },
};

function setUp(options: { readonly standIn?: EventTarget } = {}) {
  const world = new KubeWorld();
  const { kernel, cluster, journal } = world;
  cluster.put(namespaceType, { metadata: { name: "ns" } });
  const { client, faults, process } = world.start("operator", { latencyMs: 0 });
  const { clock, random } = process;
  let dropped = 0;
  const lines: string[] = [];
  const warn: Log["warn"] = ({ kind, namespace, name, note }, message) =>
    lines.push(`warn ${kind} ${namespace}/${name} ${note}: ${message}`);
  const writer = createEventWriter({
    client,
    instance: "iam-operator-0",
    clock,
    random,
    log: { ...silentLog, warn },
    ...options,
    onDropped: () => {
      dropped += 1;
    },
  });
  const record = async (note: EventNote, about = target) => {
    writer.record(about, note);
    await kernel.advance(0);
  };
  /** In the order in which they were created. */
  const events = (): readonly ClusterEvent[] =>
    cluster.all(eventType).toSorted((a, b) => uidNumber(a) - uidNumber(b));
  const seen = () =>
    events().map(({ note, series }) => `${note}${series ? ` ×${series.count}` : ""}`);
  const calls = () => journal.calls.length;
  return {
    kernel,
    cluster,
    faults,
    writer,
    record,
    events,
    calls,
    seen,
    lines,
    dropped: () => dropped,
  };
}

const uidNumber = ({ metadata }: ClusterEvent) => Number(metadata.uid?.replace("uid-", ""));

describe("an event writer", () => {
  test("writes an event", async () => {
    const { record, events } = setUp();
    await record(event());
    expect(events()).toMatchObject([
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
    const { kernel, record, seen } = setUp();
    await record(event());
    await record(event());
    await kernel.advance(9 * MINUTE);
    await record(event());
    expect(seen()).toEqual(["Issued key k1 ×3"]);
    await kernel.advance(11 * MINUTE);
    await record(event());
    expect(seen()).toEqual(["Issued key k1 ×3", "Issued key k1"]);
  });

  test("tells objects apart that were created anew under their name", async () => {
    const { record, seen } = setUp();
    await record(event());
    await record(event(), { ...target, metadata: { ...target.metadata, uid: "u2" } });
    expect(seen()).toEqual(["Issued key k1", "Issued key k1"]);
  });

  test("writes 25 events of an object, then one in five minutes, and counts all of them", async () => {
    const { kernel, record, calls, seen, dropped } = setUp();
    for (let n = 1; n <= 40; n += 1) await record(event());
    expect([calls(), dropped()]).toEqual([25, 15]);
    await kernel.advance(5 * MINUTE);
    await record(event());
    await record(event());
    expect([calls(), seen()]).toEqual([26, ["Issued key k1 ×41"]]);
    await record(event(), {
      ...target,
      metadata: { ...target.metadata, name: "other", uid: "u2" },
    });
    expect(calls()).toBe(27);
  });

  test("writes an event that is gone again", async () => {
    const { cluster, record, events, seen } = setUp();
    await record(event());
    cluster.remove(eventType, keyOf(events()[0]!));
    await record(event());
    expect(seen()).toEqual(["Issued key k1 ×2"]);
  });

  test("drops an event that the server refuses, and goes on with the next one", async () => {
    const { faults, record, seen, dropped } = setUp();
    faults.call = { kind: "Refuse", status: 403 };
    await record(event("first"));
    faults.call = undefined;
    await record(event("second"));
    expect([seen(), dropped()]).toEqual([["second"], 1]);
  });

  test("writes none before the server's Retry-After is over, but does not hold up the end", async () => {
    const { kernel, faults, writer, record, seen } = setUp();
    faults.call = { kind: "Refuse", status: 429, retryAfter: 2 };
    await record(event("first"));
    faults.call = undefined;
    await record(event("second"));
    await kernel.advance(1_999);
    expect(seen()).toEqual([]);
    await kernel.advance(1);
    expect(seen()).toEqual(["second"]);

    faults.call = { kind: "Refuse", status: 429, retryAfter: 60 };
    await record(event("third"));
    faults.call = undefined;
    await record(event("fourth"));
    const flushing = writer.flush(SECOND).then(seen);
    await kernel.advance(SECOND / 2);
    expect(await flushing).toEqual(["second", "fourth"]);
    expect(kernel.waiting).toEqual([]);
  });

  test("keeps its memory and its queue bounded", async () => {
    const { kernel, writer, calls, dropped } = setUp();
    for (let n = 0; n < 6_000; n += 1) {
      const metadata = { ...target.metadata, name: `k${n}`, uid: `u${n}` };
      writer.record({ ...target, metadata }, event());
    }
    expect(dropped()).toBe(5_000);
    await kernel.advance(0);
    expect(calls()).toBe(1_000);
  });

  test("shares its queue among namespaces, whatever one of them reports", async () => {
    const { kernel, cluster, writer, events, dropped } = setUp();
    const about = (namespace: string, n: number) => ({
      ...target,
      metadata: { namespace, name: `k${n}`, uid: `${namespace}-${n}` },
    });
    for (const name of ["flood", "other"]) cluster.put(namespaceType, { metadata: { name } });
    for (let n = 0; n < 3_000; n += 1) writer.record(about("flood", n), event());
    for (let n = 0; n < 5; n += 1) writer.record(about("other", n), event());
    expect(dropped()).toBe(2_005);
    await kernel.advance(0);
    const namespaces = events().map(({ metadata }) => metadata.namespace);
    expect(namespaces.slice(0, 11).filter((each) => each === "other")).toHaveLength(5);
    expect(namespaces).toHaveLength(1_000);
  });

  test.each([
    ["of a terminating namespace", "team-x", { deletionTimestamp: "2026-01-01T00:00:00Z" }],
    ["of a namespace that does not exist", "team-y", undefined],
  ])("writes a Warning about an object %s beside the operator", async (_, namespace, metadata) => {
    const { cluster, record, events, lines, dropped } = setUp({ standIn });
    cluster.put(namespaceType, { metadata: { name: "iam-operator-system" } });
    const finalizers = ["example.com/hold"];
    if (metadata)
      cluster.put(namespaceType, { metadata: { name: namespace, finalizers, ...metadata } });
    const about = { ...target, metadata: { namespace, name: "ci", uid: "u1" } };
    const note = "Keys that stay valid until they expire: sak_1.";
    const warning = { type: "Warning", reason: "KeysNotRevoked", action: "Delete", note } as const;
    await record(warning, about);
    await record({ ...warning, isCondition: true, note: "Not ready." }, about);
    await record(event(), about);
    expect(events()).toMatchObject([
      {
        metadata: { namespace: "iam-operator-system" },
        reason: "KeysNotRevoked",
        note: `ApiKey ${namespace}/ci: ${note}`,
        regarding: { kind: "Lease", namespace: "iam-operator-system", name: "iam-operator" },
        related: { kind: "ApiKey", namespace, name: "ci", uid: "u1" },
      },
    ]);
    expect(lines.filter((line) => line.includes("sak_1"))).toHaveLength(1);
    expect(dropped()).toBe(2);
  });

  test("names in the log what a Warning that is not written is about", async () => {
    const { faults, record, lines } = setUp();
    faults.call = { kind: "Refuse", status: 403 };
    await record({ ...event("Keys: sak_1"), type: "Warning" });
    expect(lines).toEqual(["warn ApiKey ns/ci Keys: sak_1: could not write an event"]);
  });

  test("bounds what it writes between characters", async () => {
    const { record, events } = setUp();
    await record(event("ü".repeat(2_000)));
    const [written] = events();
    expect(Buffer.byteLength(written?.note ?? "")).toBeLessThanOrEqual(1_024);
    expect(written?.note).toMatch(/^ü+…$/);
  });

  test("flushes, but not forever", async () => {
    const { kernel, faults, writer, seen } = setUp();
    writer.record(target, event());
    const flushing = writer.flush(SECOND);
    await kernel.advance(0);
    await flushing;
    expect([seen(), kernel.waiting]).toEqual([["Issued key k1"], []]);

    faults.call = { kind: "Silence", when: "BeforeCommit" };
    writer.record(target, event());
    let flushed = false;
    const stuck = writer.flush(SECOND).then(() => {
      flushed = true;
    });
    await kernel.advance(SECOND - 1);
    expect(flushed).toBe(false);
    await kernel.advance(1);
    await stuck;
  });
});

test("of an object that an event is about, only what names it is remembered", () => {
  const object = { ...target, metadata: { ...target.metadata, managedFields: [{}] }, spec: {} };
  const series = new EventCorrelator(createFakeClock()).add(object, event());
  expect(series?.target).toEqual(target);
});
