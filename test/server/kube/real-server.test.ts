/** The client and the reflector on a real kube-apiserver. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { listPages } from "../../../src/kube/client/list-pages.ts";
import { isKubeError, type KubeErrorCode } from "../../../src/kube/errors.ts";
import type { KubeObject, ResourceType } from "../../../src/kube/resource.ts";
import {
  type ConfigMap,
  configMapType,
  namespaceType,
  type Secret,
  secretType,
} from "../../../src/kube/resource-types.ts";
import { createStore, type WritableStore } from "../../../src/kube/store/memory-store.ts";
import {
  type Reflector,
  type ReflectorOptions,
  startReflector,
} from "../../../src/kube/watch/reflector.ts";
import type { RestartReason } from "../../../src/kube/watch/watch-state.ts";
import { silentLog } from "../../../src/util/log.ts";
import { systemRandom } from "../../../src/util/random.ts";
import { type ControlPlane, startControlPlane } from "../../cluster/control-plane.ts";
import { connect, type RealClient } from "../../cluster/real-client.ts";

/** The first start on a machine builds the binary. */
const buildTimeoutMs = 900_000;
const otherUid = "00000000-0000-0000-0000-000000000000";

interface Widget extends KubeObject {
  readonly spec?: { readonly size?: number };
  readonly status?: { readonly conditions?: readonly object[] };
}
const widgetType: ResourceType<Widget> = {
  group: "test.example.com",
  version: "v1",
  plural: "widgets",
  kind: "Widget",
  namespaced: true,
};

let cluster: ControlPlane;
let real: RealClient;
let serial = 0;
let namespace: string;

beforeAll(async () => {
  cluster = await startControlPlane();
  real = await connect(cluster.kubeconfig);
}, buildTimeoutMs);
afterAll(async () => {
  await real?.transport.close();
  await cluster?.stop();
});

async function freshNamespace(): Promise<string> {
  serial += 1;
  namespace = `test-${serial}`;
  await real.client.create(namespaceType, { metadata: { name: namespace } });
  return namespace;
}

const configMap = (name: string, data: Record<string, string> = {}): ConfigMap => ({
  metadata: { name, namespace },
  data,
});
const keyFor = (name: string) => ({ namespace, name });
const codeOf = (promise: Promise<unknown>): Promise<KubeErrorCode | "none" | undefined> =>
  promise.then(
    () => "none",
    (error: unknown) => (isKubeError(error) ? error.code : undefined),
  );

describe("the client", () => {
  beforeAll(freshNamespace);

  test("creates, reads and deletes", async () => {
    const { client } = real;
    const made = await client.create(configMapType, configMap("one", { a: "1" }));
    expect(await client.get(configMapType, keyFor("one"))).toEqual(made);
    expect(await codeOf(client.create(configMapType, configMap("one")))).toBe("AlreadyExists");
    await client.delete(configMapType, keyFor("one"), { uid: made.metadata.uid ?? "" });
    expect(await client.get(configMapType, keyFor("one"))).toBeUndefined();
    await client.delete(configMapType, keyFor("one"), {});
  });

  test("applies, and what it no longer says goes", async () => {
    const { client } = real;
    await client.apply(configMapType, configMap("two", { a: "1", b: "2" }));
    const applied = await client.apply(configMapType, configMap("two", { b: "3" }));
    expect(applied).toMatchObject({ data: { b: "3" } });
    expect(applied).not.toHaveProperty("data.a");
  });

  test.each([
    ["an old version", { resourceVersion: "1" }],
    ["another object's UID", { uid: otherUid }],
  ])("refuses %s as a conflict, whichever way it is written", async (_, preconditions) => {
    const { client } = real;
    const before = await client.apply(configMapType, configMap("three", { a: "1" }));
    const meant = {
      ...configMap("three", { a: "2" }),
      metadata: { ...keyFor("three"), ...preconditions },
    };
    const patch = { metadata: preconditions, data: { a: "2" } };
    expect(await codeOf(client.apply(configMapType, meant))).toBe("Conflict");
    expect(await codeOf(client.mergePatch(configMapType, keyFor("three"), patch))).toBe("Conflict");
    expect(await codeOf(client.replace(configMapType, meant))).toBe("Conflict");
    expect(await codeOf(client.delete(configMapType, keyFor("three"), preconditions))).toBe(
      "Conflict",
    );
    expect(await client.get(configMapType, keyFor("three"))).toEqual(before);
  });

  test("does not bring an object back that is known by its UID", async () => {
    const { client } = real;
    const gone = { ...configMap("gone"), metadata: { ...keyFor("gone"), uid: otherUid } };
    expect(await codeOf(client.apply(configMapType, gone))).toBe("Conflict");
    expect(await codeOf(client.mergePatch(configMapType, keyFor("gone"), {}))).toBe("NotFound");
    expect(await client.get(configMapType, keyFor("gone"))).toBeUndefined();
  });

  test("changes nothing in a dry run", async () => {
    const { client } = real;
    const secret: Secret = { metadata: keyFor("dry"), stringData: { a: "1" } };
    expect((await client.create(secretType, secret, { dryRun: true })).data).toEqual({
      a: btoa("1"),
    });
    expect(await client.get(secretType, keyFor("dry"))).toBeUndefined();
    await client.create(secretType, secret);
    await client.delete(secretType, keyFor("dry"), {}, { dryRun: true });
    expect(await client.get(secretType, keyFor("dry"))).toBeDefined();
  });

  test("keeps a Secret's value out of what the server says about it", async () => {
    const wrong = { metadata: keyFor("wrong"), data: { a: { b: "canary-value" } } };
    const error = await real.client.apply(secretType, wrong).catch((reason: unknown) => reason);
    expect(String(error)).toContain("<redacted>");
    expect(String(error)).not.toContain("canary");
  });

  test("tells an absent object from an absent kind", async () => {
    const type = { ...widgetType, plural: "nothings" };
    expect(await codeOf(real.client.get(type, keyFor("a")))).toBe("NotFound");
    expect(await codeOf(real.client.delete(type, keyFor("a"), {}))).toBe("NotFound");
  });

  test("is refused what it has no right to", async () => {
    const mallory = await connect(cluster.kubeconfigFor("mallory"));
    expect(await codeOf(mallory.client.get(secretType, keyFor("a")))).toBe("Forbidden");
    await mallory.transport.close();
  });

  test("lists every page", async () => {
    const names = Array.from({ length: 620 }, (_, i) => `page-${String(i).padStart(4, "0")}`);
    for (let i = 0; i < names.length; i += 16) {
      const some = names.slice(i, i + 16);
      await Promise.all(some.map((name) => real.client.create(configMapType, configMap(name))));
    }
    const before = real.requests.length;
    const listed = await real.client.list(configMapType, { namespace });
    expect(listed.map(({ metadata }) => metadata.name)).toEqual(expect.arrayContaining(names));
    expect(real.requests.slice(before)).toEqual(["GET 200", "GET 200"]);
    expect(listed[0]).toMatchObject({ apiVersion: "v1", kind: "ConfigMap" });
  });
});

describe("status of a custom resource", () => {
  beforeAll(async () => {
    await freshNamespace();
    await createWidgets();
  });

  test("is applied on its own, with preconditions", async () => {
    const { client } = real;
    const widget = await client.create(widgetType, { metadata: keyFor("w"), spec: { size: 1 } });
    const { uid = "", resourceVersion = "" } = widget.metadata;
    const ready = { type: "Ready", status: "True" };
    const status = (preconditions: object): Widget => ({
      metadata: { ...keyFor("w"), ...preconditions },
      status: { conditions: [ready] },
    });
    const onStatus = { subresource: "status" } as const;
    for (const wrong of [
      { uid: otherUid },
      { resourceVersion: "1" },
      { uid, resourceVersion: "1" },
    ]) {
      expect(await codeOf(client.apply(widgetType, status(wrong), onStatus))).toBe("Conflict");
    }
    const applied = await client.apply<Widget>(
      widgetType,
      status({ uid, resourceVersion }),
      onStatus,
    );
    expect(await client.apply(widgetType, status({ uid }), onStatus)).toMatchObject({
      metadata: { uid },
    });
    expect(applied).toMatchObject({ spec: { size: 1 }, status: { conditions: [ready] } });
    expect(
      await codeOf(client.apply(widgetType, { ...status({}), metadata: keyFor("none") }, onStatus)),
    ).toBe("NotFound");
    expect(
      await codeOf(client.create(widgetType, { metadata: keyFor("v"), spec: { size: -1 } })),
    ).toBe("Invalid");
  });
});

describe("the reflector", () => {
  let store: WritableStore<ConfigMap>;
  let abort: AbortController;
  let reflector: Reflector;
  let restarts: RestartReason[];

  beforeAll(freshNamespace);
  const start = (options: Partial<ReflectorOptions<ConfigMap>> = {}) => {
    abort = new AbortController();
    restarts = [];
    store = createStore<ConfigMap>({ onListenerError: () => undefined });
    reflector = startReflector<ConfigMap>({
      api: real.api,
      type: configMapType,
      scope: { namespace },
      store,
      random: systemRandom,
      log: silentLog,
      observer: { onRestart: (reason) => void restarts.push(reason) },
      signal: abort.signal,
      ...options,
    });
  };
  const stop = async () => {
    abort.abort();
    await reflector.done;
  };
  const whenSynced = () => vi.waitFor(() => expect(store.synced).toBe(true), 10_000);
  const whenEqual = () =>
    vi.waitFor(async () => {
      const { objects } = await listPages(
        real.api,
        configMapType,
        { namespace },
        { timeoutMs: 5_000 },
      );
      const versions = (all: readonly ConfigMap[]) =>
        all.map(({ metadata }) => `${metadata.uid} ${metadata.resourceVersion}`).sort();
      expect(versions(store.list())).toEqual(versions(objects));
    }, 25_000);

  test("streams the initial objects, and sees our own writes", async () => {
    await real.client.create(configMapType, configMap("before", { a: "1" }));
    start();
    await whenSynced();
    expect(restarts).toEqual([]);
    const before = store.get(keyFor("before"));
    expect(before).toMatchObject({ apiVersion: "v1", kind: "ConfigMap", data: { a: "1" } });
    expect(before?.metadata).not.toHaveProperty("managedFields");
    const written = await real.client.apply(configMapType, configMap("own", { a: "1" }));
    store.note(written);
    await vi.waitFor(() => expect(store.isCurrent(keyFor("own"))).toBe(true));
    expect(store.get(keyFor("own"))?.metadata.resourceVersion).toBe(
      written.metadata.resourceVersion,
    );
    await stop();
  });

  test("keeps metadata only where asked to, of what the label selects", async () => {
    const metadata = { ...keyFor("labelled"), labels: { app: "x" } };
    await real.client.create(configMapType, { metadata, data: { secret: "1" } });
    start({ metadataOnly: true, labelSelector: "app=x" });
    await whenSynced();
    expect(store.list()).toEqual([
      { apiVersion: "v1", kind: "ConfigMap", metadata: expect.objectContaining(metadata) },
    ]);
    await stop();
  });

  test("is synced at once with a kind that the server has no cache of yet", async () => {
    // A server whose cache is there before it answers refuses nothing: then the next kind tells.
    restarts = [];
    for (let n = 1; n <= 10 && restarts.length === 0; n += 1) {
      const type = { ...widgetType, plural: `gadgets${n}`, kind: `Gadget${n}` };
      await defineKind(type);
      start({ type });
      await whenSynced();
      await stop();
    }
    expect(restarts).toEqual(["Initializing"]);
  }, 60_000);

  test("resumes after a crash of the API server without listing again", async () => {
    start();
    await whenSynced();
    await cluster.killApiServer();
    await vi.waitFor(() => expect(restarts.length).toBeGreaterThan(2), 10_000);
    expect(store.get(keyFor("before"))).toBeDefined();
    await cluster.startApiServer();
    await vi.waitFor(() => real.client.create(configMapType, configMap("after")), 10_000);
    await vi.waitFor(() => expect(store.get(keyFor("after"))).toBeDefined(), 25_000);
    await whenEqual();
    expect(new Set(restarts)).toEqual(new Set(["Unavailable"]));
    await stop();
  }, 90_000);

  test("lists anew when the server no longer remembers where it was", async () => {
    const api = { ...real.api, openStream: fromTheStart(real.api.openStream) };
    start({ api, limits: { streamSeconds: [6, 6] } });
    await whenSynced();
    await vi.waitFor(() => expect(restarts).toContain("Gone"), 25_000);
    await real.client.apply(configMapType, configMap("changed", { n: "1" }));
    await whenEqual();
    await stop();
  }, 60_000);
});

/** Makes the first resumption ask for the very first version, which no running server remembers. */
function fromTheStart(open: RealClient["api"]["openStream"]): RealClient["api"]["openStream"] {
  let isDone = false;
  return (request) => {
    if (isDone || !request.url.includes("resourceVersion=")) return open(request);
    isDone = true;
    return open({
      ...request,
      url: request.url.replace(/resourceVersion=\d+/, "resourceVersion=1"),
    });
  };
}

async function createWidgets(): Promise<void> {
  await defineKind(widgetType);
  await vi.waitFor(() => real.client.list(widgetType), 10_000);
}

/** Nobody has asked for an object of the kind when this returns. */
async function defineKind({ group, plural, kind }: ResourceType): Promise<void> {
  const name = `${plural}.${group}`;
  const crd = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural, kind },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: {
              type: "object",
              properties: {
                spec: { type: "object", properties: { size: { type: "integer", minimum: 0 } } },
                status: {
                  type: "object",
                  properties: {
                    conditions: {
                      type: "array",
                      "x-kubernetes-list-type": "map",
                      "x-kubernetes-list-map-keys": ["type"],
                      items: {
                        type: "object",
                        required: ["type"],
                        properties: { type: { type: "string" }, status: { type: "string" } },
                      },
                    },
                  },
                },
              },
            },
          },
        },
      ],
    },
  };
  await kubectl(["apply", "-f", "-"], JSON.stringify(crd));
  await kubectl(["wait", "--for=condition=established", `crd/${name}`]);
}

async function kubectl(args: readonly string[], input = ""): Promise<void> {
  const child = promisify(execFile)(cluster.kubectl, ["--kubeconfig", cluster.kubeconfig, ...args]);
  child.child.stdin?.end(input);
  await child;
}
