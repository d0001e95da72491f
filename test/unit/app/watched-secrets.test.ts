/** Which changes of Secrets are told, when the operator writes them itself. */
import type { ServerResponse } from "node:http";
import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { WatchedSecrets } from "../../../src/app/watched-secrets.ts";
import { createKubeTransport, type KubeTransport } from "../../../src/kube/transport/transport.ts";
import { createMetrics } from "../../../src/observability/metrics.ts";
import { silentLog } from "../../../src/util/log.ts";
import { systemRandom } from "../../../src/util/random.ts";
import { systemClock } from "../../../src/util/time.ts";
import {
  bookmark,
  event,
  objectOf,
  type ScriptedServer,
  startScriptedServer,
  stream,
} from "../kube/scripted-server.ts";

const KEY = { namespace: "ns", name: "ci" };

let server: ScriptedServer;
let transport: KubeTransport;
let secrets: WatchedSecrets;
let done: Promise<void>;
let abort: AbortController;
let watch: ServerResponse;
let told: string[];

beforeEach(async () => {
  server = await startScriptedServer();
  transport = createKubeTransport({ endpoint: server.endpoint, clock: systemClock });
  abort = new AbortController();
  told = [];
  server.onWatch((response, request) => {
    watch = response;
    stream(bookmark("1", true))(response, request);
  });
  const { send, openStream } = transport;
  secrets = new WatchedSecrets({
    api: { baseURL: server.url, send, openStream, clock: systemClock, userAgent: "test" },
    namespaces: [],
    watchSecrets: "true",
    random: systemRandom,
    log: silentLog,
    metrics: createMetrics(new Registry()),
  });
  secrets.subscribe(({ key, new: now }) =>
    told.push(`${key.name} ${now?.metadata.resourceVersion ?? "gone"}`),
  );
  done = secrets.follow(abort.signal);
  await vi.waitFor(() => expect(secrets.isWatched).toBe(true));
});

afterEach(async () => {
  abort.abort();
  await done;
  await transport.close();
  await server.stop();
});

/** The watch tells of a change, and it has come in. */
async function hear(type: string, version: string): Promise<void> {
  watch.write(event(type, KEY.name, version));
  const seen = type === "DELETED" ? undefined : version;
  await vi.waitFor(() => expect(secrets.get(KEY)?.metadata.resourceVersion).toBe(seen));
}

const written = (version: string) => objectOf({ name: KEY.name, version });

test("our own write is not told, whether its answer or its event comes first", async () => {
  await secrets.track(KEY, () => Promise.resolve(written("5")));
  expect(secrets.isCurrent(KEY)).toBe(false);
  await hear("ADDED", "5");
  await secrets.track(KEY, async () => {
    await hear("MODIFIED", "6");
    return written("6");
  });
  expect(secrets.isCurrent(KEY)).toBe(true);
  expect(told).toEqual([]);
});

test("what others do while we write is told when the write has its answer", async () => {
  await secrets.track(KEY, async () => {
    await hear("ADDED", "5");
    await hear("MODIFIED", "7");
    expect(told).toEqual([]);
    return written("5");
  });
  expect(told).toEqual(["ci 7"]);
  await hear("DELETED", "8");
  expect(told).toEqual(["ci 7", "ci gone"]);
});

test("a write that fails hides nothing", async () => {
  const failing = secrets.track(KEY, async () => {
    await hear("ADDED", "5");
    throw new Error("no answer");
  });
  await expect(failing).rejects.toThrow("no answer");
  expect(told).toEqual(["ci 5"]);
});
