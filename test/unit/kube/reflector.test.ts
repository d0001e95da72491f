import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ConfigMap, configMapType, namespaceType } from "../../../src/kube/resource-types.ts";
import { createStore, type WritableStore } from "../../../src/kube/store/memory-store.ts";
import {
  type Reflector,
  type ReflectorOptions,
  startReflector,
} from "../../../src/kube/watch/reflector.ts";
import type { RestartReason } from "../../../src/kube/watch/watch-state.ts";
import { silentLog } from "../../../src/util/log.ts";
import { HOUR, MINUTE, SECOND } from "../../../src/util/time.ts";
import type { Storage } from "../../../tools/api-server/storage.ts";
import type { Fault, WatchFault } from "../../../tools/simulation/faults.ts";
import { KubeWorld } from "../../support/kube-world.ts";

let world: KubeWorld;
let storage: Storage;
let store: WritableStore<ConfigMap>;
let abort: AbortController;
let reflector: Reflector;
let requests: { readonly text: string; readonly at: number }[];
let restarts: RestartReason[];
let changes: string[];

beforeEach(() => {
  world = new KubeWorld();
  storage = world.cluster.server.storage;
  put("b");
  put("a");
  store = createStore<ConfigMap>({
    onListenerError: (error) => {
      throw error;
    },
  });
  abort = new AbortController();
  requests = [];
  restarts = [];
  changes = [];
  store.subscribe(({ key, old, new: next }) =>
    changes.push(`${key.name} ${old?.data?.is ?? ""}>${next?.data?.is ?? ""}`),
  );
});

afterEach(async () => {
  abort.abort();
  await reflector.done;
  // What is under way arrives, and nothing else is left.
  await world.kernel.advance(MINUTE);
  expect(world.kernel.waiting).toEqual([]);
});

/** `watches`: what befalls the first watch, the second one, and so on. */
function start(
  watches: readonly WatchFault[] = [],
  calls: readonly Fault[] = [],
  options: Partial<ReflectorOptions<ConfigMap>> = {},
): void {
  const faults = [
    ...calls,
    ...watches.map((fault, n): Fault => ({ on: "watch", plural: "configmaps", nth: n + 1, fault })),
  ];
  const { api } = world.start("a", {}, faults);
  reflector = startReflector<ConfigMap>({
    api: {
      ...api,
      send: (request) => api.send(recorded(request)),
      openStream: (request) => api.openStream(recorded(request)),
    },
    type: configMapType,
    scope: { namespace: "ns" },
    store,
    random: { fraction: () => 0.5, id: () => "id" },
    log: silentLog,
    observer: { onRestart: (reason) => void restarts.push(reason) },
    signal: abort.signal,
    ...options,
  });
}

function recorded<T extends { readonly url: string }>(request: T): T {
  const query = new URL(request.url).searchParams;
  requests.push({ text: describeQuery(query), at: world.kernel.elapsed });
  return request;
}

function describeQuery(query: URLSearchParams): string {
  if (query.has("sendInitialEvents")) return "watch all";
  if (query.has("watch")) return `watch ${query.get("resourceVersion")}`;
  if (query.get("limit") === "1") return "check";
  return query.has("continue") ? "list on" : "list";
}

const put = (name: string, is = "1") =>
  world.cluster.put(configMapType, { metadata: { namespace: "ns", name }, data: { is } });
const remove = (name: string) => world.cluster.remove(configMapType, { namespace: "ns", name });
const pass = (ms = 5 * SECOND) => world.kernel.advance(ms);
const content = () => store.list().map(({ metadata: { name }, data }) => `${name} ${data?.is}`);
const asked = () => requests.map(({ text }) => text);
const watchNow = () => `watch ${storage.revision}`;

/** Every state that the store has after some event from now on. */
function observeStates(): ReadonlySet<string> {
  const seen = new Set<string>();
  world.kernel.afterEachEvent(() => seen.add(`${store.synced ? "" : "not "}synced: ${store.size}`));
  return seen;
}

describe("the first listing", () => {
  test("comes over the stream and is invisible until its last bookmark", async () => {
    const seen = observeStates();
    start();
    await pass();
    expect(seen).toEqual(new Set(["not synced: 0", "synced: 2"]));
    expect([content(), asked()]).toEqual([["a 1", "b 1"], ["watch all"]]);
  });

  test.each([400, 405, 415, 422])("is read in pages if the server answers %i", async (status) => {
    start([{ kind: "Refuse", status }]);
    await pass();
    expect(content()).toEqual(["a 1", "b 1"]);
    expect(asked()).toEqual(["watch all", "list", watchNow()]);
  });

  test("is read in pages if the stream remains silent", async () => {
    start([{ kind: "Frozen", nth: 0 }]);
    await pass(20 * SECOND);
    expect(content()).toEqual(["a 1", "b 1"]);
    expect(asked()).toEqual(["watch all", "list", watchNow()]);
    expect(restarts).toEqual(["Idle"]);
  });

  test("is read in pages while the server fills its cache", async () => {
    const message = "storage is (re)initializing";
    start([{ kind: "Refuse", status: 429, retryAfter: 60, message }]);
    await pass();
    expect(content()).toEqual(["a 1", "b 1"]);
    expect(asked()).toEqual(["watch all", "list", watchNow()]);
    expect(restarts).toEqual(["Initializing"]);
  });

  test("starts over when a page's token has expired, and nothing is taken from the part", async () => {
    for (let n = 0; n < 500; n += 1) put(`more-${n}`);
    const seen = observeStates();
    const select = { operation: "list configmaps", nth: 2 };
    const expired: Fault = { on: "call", select, fault: { kind: "Refuse", status: 410 } };
    start([{ kind: "Refuse", status: 400 }], [expired]);
    await pass();
    expect(seen).toEqual(new Set(["not synced: 0", "synced: 502"]));
    expect(asked().slice(0, -1)).toEqual(["watch all", "list", "list on", "list", "list on"]);
    expect(restarts).toEqual(["Unsupported", "Gone"]);
  });

  test("survives a server that is not there yet", async () => {
    start([
      { kind: "Refuse", status: 503 },
      { kind: "Refuse", status: 404 },
    ]);
    await pass();
    expect(content()).toEqual(["a 1", "b 1"]);
    expect(restarts).toEqual(["Unavailable", "NotFound"]);
  });
});

describe("a stream that ends", () => {
  test("is resumed after a reset, from the last version, without listing", async () => {
    start([{ kind: "Torn", nth: 2 }]);
    await pass();
    put("c");
    const last = watchNow();
    await pass();
    put("d");
    await pass();
    expect(content()).toEqual(["a 1", "b 1", "c 1", "d 1"]);
    expect(asked()).toEqual(["watch all", "check", last]);
    expect(restarts).toEqual(["Unavailable"]);
  });

  test("is resumed from a bookmark", async () => {
    start([{ kind: "Torn", nth: 1 }]);
    await pass();
    world.cluster.put(namespaceType, { metadata: { name: "other" } });
    const last = watchNow();
    await pass(MINUTE);
    put("c");
    await pass();
    expect(asked()).toEqual(["watch all", "check", last]);
  });

  test("is resumed when nothing comes any more", async () => {
    start([{ kind: "Frozen", nth: 1 }]);
    await pass();
    remove("a");
    await pass(70 * SECOND);
    expect([content(), restarts]).toEqual([["a 1", "b 1"], []]);
    await pass(10 * SECOND);
    expect([content(), restarts]).toEqual([["b 1"], ["Idle"]]);
  });

  test("is not idle while bookmarks come", async () => {
    start();
    await pass(7 * MINUTE);
    expect([restarts, asked()]).toEqual([[], ["watch all"]]);
  });

  test("is given up when the server does not close it in time", async () => {
    start([{ kind: "Frozen", nth: 1 }], [], { limits: { idleMs: HOUR } });
    await pass();
    put("c");
    await pass(8 * MINUTE);
    expect([content(), restarts]).toEqual([["a 1", "b 1", "c 1"], ["Deadline"]]);
  });

  test("leaves out a line that was cut, which comes again", async () => {
    start([{ kind: "Garbled", nth: 1, text: `{"type":"ADDED","obj`, ends: true }]);
    await pass();
    const last = watchNow();
    put("c");
    await pass();
    expect(content()).toEqual(["a 1", "b 1", "c 1"]);
    expect(asked()).toEqual(["watch all", "check", last]);
    expect(restarts).toEqual(["Truncated"]);
  });

  const hanging: Fault = {
    on: "call",
    select: { nth: 1 },
    fault: { kind: "Silence", when: "BeforeCommit" },
  };
  test.each<[string, WatchFault[], Fault[]]>([
    ["the open one", [], []],
    ["a silent one", [{ kind: "Frozen", nth: 0 }], []],
    ["a page without an answer", [{ kind: "Refuse", status: 400 }], [hanging]],
  ])("takes %s along when aborted", async (_, watches, calls) => {
    start(watches, calls);
    await pass(SECOND);
    abort.abort();
    await reflector.done;
  });
});

test("a stream that has left out the event of our own write is given up for a listing", async () => {
  start([{ kind: "Dropped", nth: 1 }]);
  await pass();
  put("a", "2");
  store.note(world.cluster.peek(configMapType, { namespace: "ns", name: "a" }));
  await pass(MINUTE);
  expect([content(), restarts]).toEqual([["a 2", "b 1"], ["Gone"]]);
  expect(asked()).toEqual(["watch all", "watch all"]);
});

describe("a version that is gone", () => {
  test.each<[string, WatchFault[]]>([
    ["by status", [{ kind: "Refuse", status: 410 }]],
    ["within the stream", []],
  ])("is listed again, %s, while the old content stays readable", async (_, watches) => {
    start([{ kind: "Torn", nth: 1 }, ...watches]);
    await pass();
    const last = watchNow();
    const seen = observeStates();
    remove("b");
    put("a", "2");
    put("c");
    storage.compact();
    await pass();
    expect(seen).toEqual(new Set(["synced: 2"]));
    expect(changes.slice(2)).toEqual(["b 1>", "a 1>2", "c >1"]);
    expect(asked()).toEqual(["watch all", "check", last, "watch all"]);
    expect(restarts).toEqual(["Unavailable", "Gone"]);
  });

  test("is noticed when etcd was restored and the server counts from further back", async () => {
    start();
    await pass();
    const snapshot = storage.snapshot();
    put("c");
    await pass();
    storage.restore(snapshot, false);
    await pass();
    expect(content()).toEqual(["a 1", "b 1"]);
    expect(restarts).toEqual(["Unavailable", "VersionWentBack"]);
  });

  test("is noticed when etcd was restored while no stream was open", async () => {
    start();
    await pass();
    const snapshot = storage.snapshot();
    put("c");
    await world.kernel.run({ until: HOUR, while: () => restarts.length === 0 });
    storage.restore(snapshot, false);
    // A stream from a version that the server has not reached says nothing.
    await pass(2 * MINUTE);
    expect(content()).toEqual(["a 1", "b 1"]);
    expect(restarts).toEqual(["Ended", "Idle", "VersionWentBack"]);
  });
});

describe("an answer that is wrong", () => {
  test.each([
    ["no JSON", "what?\n"],
    ["no event", "[]\n"],
    [
      "an unknown event",
      `{"type":"GONE","object":{"metadata":{"name":"a","resourceVersion":"1"}}}\n`,
    ],
    ["an object without a version", `{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n`],
    ["a line without end", `{"type":"ADDED","object":{"x":"${"x".repeat(200_000)}`],
    [
      "an unknown error",
      `{"type":"ERROR","object":{"kind":"Status","code":418,"reason":"Teapot"}}\n`,
    ],
    ["an error without a status", `{"type":"ERROR","object":{}}\n`],
  ])("%s has everything listed again", async (_, text) => {
    start([{ kind: "Garbled", nth: 1, text }], [], { limits: { maxLineBytes: 100_000 } });
    await pass();
    put("c");
    await pass();
    expect([content(), restarts]).toEqual([["a 1", "b 1", "c 1"], ["Malformed"]]);
    expect(asked()).toEqual(["watch all", "watch all"]);
  });

  test("is not seen twice when a proxy replays an event", async () => {
    start([{ kind: "Doubled", nth: 1 }]);
    await pass();
    put("c");
    await pass();
    expect(changes).toEqual(["a >1", "b >1", "c >1"]);
  });
});

test.each([429, 503])(
  "a server is not asked before its Retry-After is over (%i)",
  async (status) => {
    start([
      { kind: "Torn", nth: 1 },
      { kind: "Refuse", status, retryAfter: 7 },
    ]);
    await pass();
    put("c");
    await pass(20 * SECOND);
    expect(content()).toEqual(["a 1", "b 1", "c 1"]);
    const [, , refused, next] = requests;
    expect(next!.at - refused!.at).toBeGreaterThanOrEqual(7 * SECOND);
  },
);

test("metadata only is requested as such, and kept as the kind it is", async () => {
  start([], [], { metadataOnly: true });
  await pass();
  const { metadata } = world.cluster.peek(configMapType, { namespace: "ns", name: "a" });
  const { uid, resourceVersion } = metadata;
  expect(store.list()[0]).toEqual({
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: expect.objectContaining({ name: "a", namespace: "ns", uid, resourceVersion }),
  });
  expect(store.list()[0]?.metadata).not.toHaveProperty("managedFields");
});
