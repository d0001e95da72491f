import { expect, test } from "vitest";
import type { EventNote, EventTarget } from "../../../src/kube/events/event-recorder.ts";
import { createEventWriter } from "../../../src/kube/events/event-writer.ts";
import { type ClusterEvent, eventType, namespaceType } from "../../../src/kube/resource-types.ts";
import { silentLog } from "../../../src/util/log.ts";
import { systemRandom } from "../../../src/util/random.ts";
import { systemClock } from "../../../src/util/time.ts";
import { useNamespace } from "../../real-world/use-namespace.ts";

const own = useNamespace("events");

const regarding = (metadata: object): EventTarget => ({
  apiVersion: "iam-operator.io/v1alpha1",
  kind: "ApiKey",
  metadata: { name: "ci", uid: "u1", resourceVersion: "7", ...metadata },
});
const event = (note: string): EventNote => ({
  type: "Normal",
  reason: "KeyIssued",
  action: "IssueKey",
  note,
});

function start(standIn?: EventTarget) {
  const dropped: string[] = [];
  const writer = createEventWriter({
    client: own().client,
    instance: "iam-operator-0",
    standIn,
    clock: systemClock,
    random: systemRandom,
    log: { ...silentLog, debug: ({ err }) => void dropped.push(String(err)) },
  });
  return { writer, dropped };
}

async function written(namespace: string) {
  const events = await own().client.list<ClusterEvent>(eventType, { namespace });
  return events.map(({ note, series }) => ({ note, count: series?.count }));
}

test("events and series are accepted, of the longest names and notes too", async () => {
  const { writer, dropped } = start();
  const { namespace } = own();
  const record = async (...notes: string[]) => {
    for (const note of notes) writer.record(regarding({ namespace }), event(note));
    await writer.flush(10_000);
  };
  await record("once");
  for (let n = 0; n < 3; n += 1) await record("again");
  await record("together", "together");
  writer.record(regarding({ namespace, name: `${"a.".repeat(126)}a` }), event("é".repeat(5_000)));
  await writer.flush(10_000);
  expect(dropped).toEqual([]);
  const events = await written(namespace);
  expect(events).toHaveLength(4);
  expect(events).toContainEqual({ note: "once", count: undefined });
  expect(events).toContainEqual({ note: "again", count: 3 });
  expect(events).toContainEqual({ note: "together", count: 2 });
});

test("events of cluster-scoped objects go to the default namespace", async () => {
  const { writer, dropped } = start();
  const note = `reachable from ${own().namespace}`;
  writer.record(regarding({ name: "console", uid: "u3" }), event(note));
  await writer.flush(10_000);
  expect(dropped).toEqual([]);
  expect(await written("default")).toContainEqual({ note, count: undefined });
});

test("a Warning about an object of a deleted namespace is written about an object of the operator", async () => {
  const { client, namespace } = own();
  const gone = { namespace: "", name: `${namespace}-gone` };
  const finalizers = ["example.com/hold"];
  const { apiVersion, kind } = { apiVersion: "v1", kind: "Namespace" };
  await client.create(namespaceType, {
    apiVersion,
    kind,
    metadata: { name: gone.name, finalizers },
  });
  await client.delete(namespaceType, gone, {});
  const { writer, dropped } = start({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { namespace, name: "iam-operator" },
  });
  const note = "Keys that stay valid until they expire: sak_1.";
  const warning = { type: "Warning", reason: "KeysNotRevoked", action: "Delete", note } as const;
  writer.record(regarding({ namespace: gone.name, uid: "u4" }), warning);
  await writer.flush(10_000);
  await client.mergePatch(namespaceType, gone, { metadata: { finalizers: null } });
  expect(dropped).toEqual([]);
  expect(await written(namespace)).toContainEqual({
    note: `ApiKey ${gone.name}/ci: ${note}`,
    count: undefined,
  });
});
