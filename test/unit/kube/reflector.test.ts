import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type ConfigMap, configMapType } from "../../../src/kube/resource-types.ts";
import { createStore, type WritableStore } from "../../../src/kube/store/memory-store.ts";
import { createKubeTransport, type KubeTransport } from "../../../src/kube/transport/transport.ts";
import {
  type Reflector,
  type ReflectorOptions,
  startReflector,
} from "../../../src/kube/watch/reflector.ts";
import type { RestartReason } from "../../../src/kube/watch/watch-state.ts";
import { silentLog } from "../../../src/util/log.ts";
import { systemClock } from "../../../src/util/time.ts";
import {
  bookmark,
  errorEvent,
  event,
  listOf,
  refuse,
  respond,
  type ScriptedServer,
  silence,
  startScriptedServer,
  statusOf,
  stream,
  streamAndEnd,
  streamAndReset,
} from "./scripted-server.ts";

/** Longer than a busy machine takes for anything: only tests of a limit wait for it. */
const LONG_MS = 60_000;
const limits = { idleMs: LONG_MS, initialIdleMs: LONG_MS, callMs: LONG_MS, maxLineBytes: 100_000 };
const quiet = { idleMs: 1_000, initialIdleMs: 1_000 };
const PATIENCE = { timeout: 30_000, interval: 10 };

let server: ScriptedServer;
let transport: KubeTransport;
let store: WritableStore<ConfigMap>;
let abort: AbortController;
let reflector: Reflector;
let restarts: RestartReason[];
let changes: string[];

beforeEach(async () => {
  server = await startScriptedServer();
  transport = createKubeTransport({ endpoint: server.endpoint, clock: systemClock });
  store = createStore<ConfigMap>({
    onListenerError: (error) => {
      throw error;
    },
  });
  abort = new AbortController();
  restarts = [];
  changes = [];
  store.subscribe(({ key, old, new: next }) => {
    const versions = [old, next].map((object) => object?.metadata.resourceVersion ?? "-");
    changes.push(`${key.name} ${versions.join(">")}`);
  });
});

afterEach(async () => {
  abort.abort();
  await reflector.done;
  // Whatever the test did, nothing stays open.
  await transport.close();
  await vi.waitFor(() => expect(server.openSockets()).toBe(0), PATIENCE);
  await server.stop();
});

function start(options: Partial<ReflectorOptions<ConfigMap>> = {}): void {
  const { send, openStream } = transport;
  reflector = startReflector<ConfigMap>({
    api: { baseURL: server.url, send, openStream, clock: systemClock, userAgent: "test" },
    type: configMapType,
    scope: { namespace: "ns" },
    store,
    // No jitter: every back-off ends at once, so only waits the server asks for are seen.
    random: { fraction: () => 0, id: () => "id" },
    log: silentLog,
    observer: { onRestart: (reason) => void restarts.push(reason) },
    limits,
    signal: abort.signal,
    ...options,
  });
}

const content = () =>
  store.list().map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`);
const settled = (expected: readonly string[]) =>
  vi.waitFor(() => expect([store.synced, content()]).toEqual([true, expected]), PATIENCE);
const requested = (expected: readonly string[]) =>
  vi.waitFor(() => expect(server.requests).toEqual(expected), PATIENCE);

const initial = [event("ADDED", "b", "7"), event("ADDED", "a", "3"), bookmark("9", true)];

describe("the first listing", () => {
  test("comes over the stream and is invisible until its last bookmark", async () => {
    const streaming = Promise.withResolvers<{ end: () => void }>();
    server.onWatch((response, request) => {
      stream(...initial.slice(0, 2))(response, request);
      streaming.resolve({ end: () => response.write(bookmark("9", true)) });
    });
    start();
    const { end } = await streaming.promise;
    await new Promise((resolve) => setTimeout(resolve, 40));
    expect([store.synced, content()]).toEqual([false, []]);
    end();
    await settled(["b 7", "a 3"]);
    expect(store.synced).toBe(true);
  });

  test("takes changes between the initial objects into account", async () => {
    server.onWatch(
      stream(
        event("ADDED", "a", "3"),
        event("ADDED", "b", "4"),
        event("MODIFIED", "a", "5"),
        event("DELETED", "b", "6"),
        bookmark("6", true),
      ),
    );
    start();
    await settled(["a 5"]);
    expect(changes).toEqual(["a ->5"]);
  });

  test.each([400, 405, 415, 422])("is read in pages where the server says %i", async (status) => {
    server.onWatch(refuse(status, "Invalid"), stream());
    server.onList(respond(listOf("9", [{ name: "a", version: "3" }])));
    start();
    await settled(["a 3"]);
    await requested(["watch all", "list", "watch 9"]);
  });

  test("is read in pages where a proxy swallows the last bookmark", async () => {
    server.onWatch(stream(...initial.slice(0, 2)), stream());
    server.onList(
      respond(listOf("9", [{ name: "a", version: "3" }], "next")),
      respond(listOf("9", [{ name: "b", version: "7" }])),
    );
    start({ limits: { ...limits, initialIdleMs: 150 } });
    await settled(["a 3", "b 7"]);
    await requested(["watch all", "list", "list next", "watch 9"]);
    expect(restarts).toEqual(["Idle"]);
  });

  test("is read in pages while the server fills its cache", async () => {
    const status = statusOf(429, "TooManyRequests", "storage is (re)initializing");
    server.onWatch(respond(status, 429, { "retry-after": "60" }), stream());
    server.onList(respond(listOf("9", [{ name: "a", version: "3" }])));
    start();
    await settled(["a 3"]);
    await requested(["watch all", "list", "watch 9"]);
    expect(restarts).toEqual(["Initializing"]);
  });

  test("starts over when a page's token has expired, and nothing is taken from the part", async () => {
    server.onWatch(refuse(400, "BadRequest"), stream());
    server.onList(
      respond(listOf("9", [{ name: "a", version: "3" }], "next")),
      refuse(410, "Expired"),
      respond(listOf("12", [{ name: "b", version: "7" }])),
    );
    start();
    await settled(["b 7"]);
    expect(changes).toEqual(["b ->7"]);
    expect(restarts).toEqual(["Unsupported", "Gone"]);
  });

  test("survives a server that is not there yet", async () => {
    server.onWatch(
      refuse(503, "ServiceUnavailable"),
      respond("nothing here", 404),
      stream(...initial),
    );
    start();
    await settled(["b 7", "a 3"]);
    expect(restarts).toEqual(["Unavailable", "NotFound"]);
  });
});

describe("a stream that ends", () => {
  test("is resumed after a reset, from the last version, without listing", async () => {
    server.onWatch(streamAndReset(...initial, event("ADDED", "c", "11")), stream());
    server.onList(respond(listOf("11")));
    start();
    await settled(["b 7", "a 3", "c 11"]);
    await requested(["watch all", "check", "watch 11"]);
    expect(restarts).toEqual(["Unavailable"]);
  });

  test("is resumed from a bookmark", async () => {
    server.onWatch(streamAndReset(...initial, bookmark("40")), stream());
    server.onList(respond(listOf("40")));
    start();
    await requested(["watch all", "check", "watch 40"]);
  });

  test("is resumed when nothing comes any more", async () => {
    server.onWatch(stream(...initial), stream(event("DELETED", "a", "12")));
    server.onList(respond(listOf("12")));
    start({ limits: { ...limits, ...quiet } });
    await settled(["b 7"]);
    expect(restarts[0]).toBe("Idle");
    expect(server.requests.slice(0, 3)).toEqual(["watch all", "check", "watch 9"]);
  });

  test("is not idle while something comes, however slowly", async () => {
    server.onWatch((response, request) => {
      stream(...initial)(response, request);
      const text = event("ADDED", "c", "41");
      // A byte at a time takes longer than the idle limit as a whole.
      for (const [i, character] of Array.from(text).entries()) {
        setTimeout(() => response.write(character), i * 12);
      }
    });
    start({ limits: { ...limits, ...quiet } });
    await settled(["b 7", "a 3", "c 41"]);
    expect(restarts).toEqual([]);
  });

  test("is given up when the server does not close it in time", async () => {
    server.onWatch((response, request) => {
      stream(...initial)(response, request);
      setInterval(() => response.write(bookmark("9")), 50).unref();
    }, stream());
    server.onList(respond(listOf("9")));
    start({ limits: { ...limits, streamSeconds: [0, 0], graceMs: 200 } });
    await vi.waitFor(() => expect(restarts[0]).toBe("Deadline"), PATIENCE);
    await vi.waitFor(
      () => expect(server.requests.slice(0, 3)).toEqual(["watch all", "check", "watch 9"]),
      PATIENCE,
    );
  });

  test("backs off when the server closes it at once", async () => {
    server.onWatch(streamAndEnd(...initial), stream());
    server.onList(respond(listOf("9")));
    start();
    await requested(["watch all", "check", "watch 9"]);
    expect(restarts).toEqual(["EndedEarly"]);
  });

  test("leaves out a line that was cut, which comes again", async () => {
    const cut = event("ADDED", "c", "11").slice(0, 30);
    server.onWatch(streamAndEnd(...initial, cut), stream(event("ADDED", "c", "11")));
    server.onList(respond(listOf("11")));
    start();
    await settled(["b 7", "a 3", "c 11"]);
    expect(server.requests).toEqual(["watch all", "check", "watch 9"]);
    expect(restarts).toEqual(["Truncated"]);
  });

  test("takes the open one along when aborted", async () => {
    server.onWatch(stream(...initial));
    start();
    await settled(["b 7", "a 3"]);
    abort.abort();
    await reflector.done;
    await vi.waitFor(() => expect(server.openSockets()).toBe(0), PATIENCE);
  });

  test("takes a request without an answer along when aborted", async () => {
    server.onWatch(silence);
    start();
    await requested(["watch all"]);
    abort.abort();
    await reflector.done;
    await vi.waitFor(() => expect(server.openSockets()).toBe(0), PATIENCE);
  });

  test("takes a page without an answer along when aborted", async () => {
    server.onWatch(refuse(400, "BadRequest"));
    server.onList(silence);
    start();
    await requested(["watch all", "list"]);
    abort.abort();
    await reflector.done;
  });
});

test("a stream that has left out the event of our own write is given up for a listing", async () => {
  server.onWatch(
    (response, request) => {
      stream(...initial)(response, request);
      setTimeout(() => {
        store.noteWrite({ metadata: { name: "a", namespace: "ns", resourceVersion: "11" } });
        response.write(bookmark("12"));
      }, 40);
    },
    stream(event("ADDED", "a", "11"), event("ADDED", "b", "7"), bookmark("12", true)),
  );
  start();
  await settled(["b 7", "a 11"]);
  expect(restarts).toEqual(["Gone"]);
});

describe("a version that is gone", () => {
  const second = [event("ADDED", "a", "20"), event("ADDED", "c", "21"), bookmark("22", true)];
  const rebuilt = ["a 20", "c 21"];

  test.each([
    ["by status", refuse(410, "Expired")],
    ["within the stream", stream(errorEvent(410, "Expired"))],
    ["as too large", refuse(504, "Timeout")],
  ])("is listed anew, %s, while the old content stays readable", async (name, gone) => {
    const tooLarge = {
      kind: "Status",
      code: 504,
      reason: "Timeout",
      message: "Too large resource version: 9, current: 8",
      details: { causes: [{ reason: "ResourceVersionTooLarge" }] },
    };
    server.onWatch(
      streamAndReset(...initial),
      name === "as too large" ? respond(tooLarge, 504) : gone,
      (response, request) => {
        expect(content()).toEqual(["b 7", "a 3"]);
        stream(...second)(response, request);
      },
    );
    server.onList(respond(listOf("9")));
    start();
    await settled(rebuilt);
    await requested(["watch all", "check", "watch 9", "watch all"]);
    expect(changes).toEqual(["b ->7", "a ->3", "b 7>-", "a 3>20", "c ->21"]);
    expect(restarts.at(-1)).toBe(name === "as too large" ? "VersionWentBack" : "Gone");
  });

  test("is noticed when etcd was restored and the server counts from further back", async () => {
    server.onWatch(
      streamAndReset(...initial),
      stream(event("ADDED", "a", "4"), bookmark("5", true)),
    );
    server.onList(respond(listOf("5")));
    start();
    await settled(["a 4"]);
    await requested(["watch all", "check", "watch all"]);
    expect(restarts).toEqual(["Unavailable", "VersionWentBack"]);
  });
});

describe("an answer that is wrong", () => {
  test.each<[string, string, RestartReason]>([
    ["no JSON", "what?\n", "Malformed"],
    ["no event", "[]\n", "Malformed"],
    [
      "an unknown event",
      `{"type":"GONE","object":{"metadata":{"name":"a","resourceVersion":"1"}}}\n`,
      "Malformed",
    ],
    [
      "an object without a version",
      `{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n`,
      "Malformed",
    ],
    ["a line without end", `{"type":"ADDED","object":{"x":"${"x".repeat(200_000)}`, "Malformed"],
    ["an error nobody knows", errorEvent(418, "Teapot"), "Malformed"],
    ["an error without a status", `{"type":"ERROR","object":{}}\n`, "Malformed"],
  ])("%s has everything listed anew", async (_, line, reason) => {
    server.onWatch(
      stream(...initial, line),
      stream(event("ADDED", "a", "20"), bookmark("20", true)),
    );
    start();
    await settled(["a 20"]);
    await requested(["watch all", "watch all"]);
    expect(restarts).toEqual([reason]);
  });

  test("is not seen twice when a proxy replays events", async () => {
    server.onWatch(
      stream(
        ...initial,
        event("DELETED", "a", "10"),
        event("ADDED", "a", "3"),
        event("ADDED", "c", "11"),
      ),
    );
    start();
    await settled(["b 7", "c 11"]);
    expect(changes).toEqual(["b ->7", "a ->3", "a 3>-", "c ->11"]);
  });

  test("is put together again however it is cut", async () => {
    server.onWatch((response, request) => {
      stream()(response, request);
      const bytes = Buffer.from([...initial, event("ADDED", "ü-ü", "11")].join(""));
      let i = 0;
      const next = () => {
        response.write(bytes.subarray(i, i + 7));
        i += 7;
        if (i < bytes.length) setImmediate(next);
      };
      next();
    });
    start();
    await settled(["b 7", "a 3", "ü-ü 11"]);
  });
});

describe("a server that wants to be left alone", () => {
  test.each([429, 503])("is not asked before its Retry-After is over (%i)", async (status) => {
    let refusedAt = 0;
    server.onWatch(
      streamAndReset(...initial),
      (response, request) => {
        refusedAt = performance.now();
        refuse(status, "TooManyRequests", { "retry-after": "1" })(response, request);
      },
      stream(event("ADDED", "c", "11")),
    );
    server.onList(respond(listOf("9")));
    start();
    await settled(["b 7", "a 3", "c 11"]);
    expect(performance.now() - refusedAt).toBeGreaterThanOrEqual(990);
    expect(server.requests).toEqual(["watch all", "check", "watch 9", "check", "watch 9"]);
  });
});

test("metadata only is asked for as such, and kept as the kind it is", async () => {
  let accept: string | undefined;
  server.onWatch((response, request) => {
    accept = request.headers.accept;
    const object = {
      kind: "PartialObjectMetadata",
      apiVersion: "meta.k8s.io/v1",
      metadata: { name: "a", namespace: "ns", uid: "1", resourceVersion: "3", managedFields: [{}] },
    };
    stream(`${JSON.stringify({ type: "ADDED", object })}\n`, bookmark("9", true))(
      response,
      request,
    );
  });
  start({ metadataOnly: true });
  await settled(["a 3"]);
  expect(accept).toBe("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
  expect(store.list()).toEqual([
    {
      kind: "ConfigMap",
      apiVersion: "v1",
      metadata: { name: "a", namespace: "ns", uid: "1", resourceVersion: "3" },
    },
  ]);
});
