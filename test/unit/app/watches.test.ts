import { describe, expect, test } from "vitest";
import { createWatches, type Watches } from "../../../src/app/watches.ts";
import { secretNameIndex } from "../../../src/controllers/api-key/secret-claims.ts";
import { connectionOf } from "../../../src/controllers/connection-key.ts";
import type { Caches } from "../../../src/controllers/frame/context.ts";
import { indexes } from "../../../src/controllers/indexes.ts";
import { saIdIndex } from "../../../src/controllers/service-account/claims.ts";
import { type KubeObject, keyText } from "../../../src/kube/resource.ts";
import { createStore, type WritableStore } from "../../../src/kube/store/memory-store.ts";
import { cachesWith } from "../../support/caches-with.ts";

// biome-ignore lint/suspicious/noExplicitAny: objects as they travel
type Raw = any;

const ref = (name: string) => [`team-a/${name}`];

function createCluster() {
  const names = [
    "clusterConnections",
    "connections",
    "serviceAccounts",
    "apiKeys",
    "policyBindings",
    "resourceQuotaExports",
    "namespaces",
  ] as const;
  const by: Record<string, Record<string, (object: Raw) => readonly string[]>> = {
    serviceAccounts: {
      [indexes.connection]: connectionOf,
      [indexes.saId]: saIdIndex,
    },
    apiKeys: {
      [indexes.serviceAccount]: ({ spec }) => ref(spec.serviceAccountRef.name),
      [indexes.secretName]: secretNameIndex,
    },
    resourceQuotaExports: {
      [indexes.connection]: connectionOf,
      [indexes.apiKey]: ({ spec }) =>
        spec.apiKeyRef === undefined ? [] : ref(spec.apiKeyRef.name),
    },
  };
  const made = names.map((name) => {
    const store: WritableStore<KubeObject> = createStore<KubeObject>({
      indexes: by[name] ?? {},
      onListenerError: (error) => {
        throw error;
      },
    });
    const writer = store.openScope("");
    writer.beginReplace()([], "1");
    return [name, { store, writer }] as const;
  });
  const parts = Object.fromEntries(made) as Record<(typeof names)[number], (typeof made)[0][1]>;
  const stores = made.map(([name, { store }]) => [name.toLowerCase(), store]);
  const secrets = { subscribe: () => () => undefined } as never;
  const caches: Caches = { ...cachesWith(Object.fromEntries(stores)), secrets };
  const listeners: Record<"changed" | "refused" | "outage", ((key: string) => void)[]> = {
    changed: [],
    refused: [],
    outage: [],
  };
  const watches = createWatches(caches, {
    onChange: (each: (key: string) => void) => void listeners.changed.push(each),
    onRefused: (each: (key: string) => void) => void listeners.refused.push(each),
    onOutage: (each: (key: string) => void) => void listeners.outage.push(each),
  } as never);
  const woken: string[] = [];
  for (const kind of Object.keys(watches) as (keyof Watches)[])
    for (const watch of watches[kind])
      watch.subscribe((key, afterMs = 0) =>
        woken.push(`${kind} ${keyText(key)}${afterMs > 0 ? ` in ${afterMs} ms` : ""}`),
      );
  let version = 1;
  const put = (
    kind: (typeof names)[number],
    name: string,
    more: Raw = {},
    namespace = "team-a",
  ) => {
    version += 1;
    const metadata = { name, namespace, uid: `${kind}-${name}`, generation: 1, ...more.metadata };
    const object = { spec: {}, ...more, metadata: { ...metadata, resourceVersion: `${version}` } };
    parts[kind].writer.put(object);
    return () => {
      version += 1;
      parts[kind].writer.remove({
        ...object,
        metadata: { ...object.metadata, resourceVersion: `${version}` },
      });
    };
  };
  const login = { kind: "Connection", name: "console" };
  put("serviceAccounts", "bot", { spec: { connectionRef: login }, status: { saId: "sa-1" } });
  const removeKey = put("apiKeys", "ci", { spec: { serviceAccountRef: { name: "bot" } } });
  put("resourceQuotaExports", "quota", {
    spec: { connectionRef: login, apiKeyRef: { name: "ci" } },
  });
  /** Who is woken by it. */
  const wakes = (act: () => void): readonly string[] => {
    woken.length = 0;
    act();
    return [...new Set(woken)].toSorted();
  };
  return { put, wakes, removeKey, listeners, login };
}

const users = [
  "accountBindings team-a/bot",
  "apiKeys team-a/ci",
  "resourceQuotaExports team-a/quota",
  "serviceAccounts team-a/bot",
];

describe("who is woken", () => {
  test("by a connection that comes: everybody who uses it, keys of its accounts included", () => {
    const { put, wakes } = createCluster();
    expect(wakes(() => put("connections", "console"))).toEqual(users);
    expect(wakes(() => put("connections", "another"))).toEqual([]);
    expect(wakes(() => put("clusterConnections", "console", {}, ""))).toEqual([]);
  });

  test("ApiKeys that wait for their account are not woken by its connection, but by the account", () => {
    const { put, wakes, login } = createCluster();
    put("serviceAccounts", "new", { spec: { connectionRef: login } });
    put("apiKeys", "waiting", { spec: { serviceAccountRef: { name: "new" } } });
    const woken = wakes(() => put("connections", "console"));
    expect(woken).toContain("serviceAccounts team-a/new");
    expect(woken).not.toContain("apiKeys team-a/waiting");
    const made = { spec: { connectionRef: login }, status: { saId: "sa-2" } };
    expect(wakes(() => put("serviceAccounts", "new", made))).toContain("apiKeys team-a/waiting");
  });

  test("by its status alone: nobody", () => {
    const { put, wakes } = createCluster();
    put("connections", "console");
    expect(wakes(() => put("connections", "console", { status: { x: 1 } }))).toEqual([]);
    expect(wakes(() => put("connections", "console", { metadata: { generation: 2 } }))).toEqual(
      users,
    );
  });

  test("by a login that changed: its users; by one that is refused, and by an outage: the connection", () => {
    const { wakes, listeners } = createCluster();
    const all = (those: ((key: string) => void)[], key: string) => () => {
      for (const each of those) each(key);
    };
    expect(wakes(all(listeners.changed, "Connection/team-a/console"))).toEqual(users);
    expect(wakes(all(listeners.refused, "Connection/team-a/console"))).toEqual([
      "connections team-a/console",
    ]);
    expect(wakes(all(listeners.refused, "ClusterConnection/console"))).toEqual([
      "clusterConnections console",
    ]);
    expect(wakes(all(listeners.outage, "ClusterConnection/console"))).toEqual([
      "clusterConnections console",
    ]);
  });

  test("by an account: its keys, where what they take from it has changed, and the exports that list with its rights", () => {
    const { put, wakes, login } = createCluster();
    const spec: Record<string, unknown> = { connectionRef: login };
    const changed = (status: object) => () =>
      put("serviceAccounts", "bot", { spec, status: { saId: "sa-1", ...status } });
    expect(wakes(changed({ attempt: { id: "x" } }))).toEqual([]);
    const keys = ["apiKeys team-a/ci"];
    const exports = ["resourceQuotaExports team-a/quota"];
    expect(wakes(changed({ state: "active" }))).toEqual([...keys, ...exports]);
    expect(wakes(changed({ state: "active", tpn: "tpn:x" }))).toEqual(keys);
    const ready = { state: "active", conditions: [{ type: "Ready", status: "True" }] };
    expect(wakes(changed(ready))).toEqual(keys);
    const bindings = { policyIds: ["read"] };
    expect(wakes(changed({ ...ready, bindings }))).toEqual(exports);
    spec.access = "Revoked";
    wakes(changed({ ...ready, bindings }));
    // Its own condition reports what is bound while access is revoked.
    const revoked = wakes(changed({ ...ready, bindings: { policyIds: [] } }));
    expect(revoked).toContain("serviceAccounts team-a/bot");
  });

  test("by a new account: its keys, once it can be used or says why not", () => {
    const { put, wakes, login } = createCluster();
    const spec = { connectionRef: login };
    const says = (status: "True" | "False", reason: string) => () =>
      put("serviceAccounts", "bot", {
        spec,
        status: { conditions: [{ type: "Ready", status, reason }] },
      });
    wakes(() => put("serviceAccounts", "bot", { spec }));
    expect(wakes(says("False", "Creating"))).toEqual([]);
    expect(wakes(says("False", "AccountExists"))).toEqual(["apiKeys team-a/ci"]);
    expect(wakes(says("False", "Unavailable"))).toEqual([]);
    expect(wakes(says("True", "Created"))).toEqual(["apiKeys team-a/ci"]);
  });

  test("by a key that came into use: exports that call with it, and its account; by its end: the account", () => {
    const { put, wakes, removeKey } = createCluster();
    const spec = { serviceAccountRef: { name: "bot" } };
    const key =
      (keyId: string, more: object = {}) =>
      () =>
        put("apiKeys", "ci", { spec, status: { current: { keyId }, ...more } });
    expect(wakes(key("k1"))).toEqual([
      "resourceQuotaExports team-a/quota",
      "serviceAccounts team-a/bot in 1000 ms",
    ]);
    expect(wakes(key("k1", { renewalTime: "x" }))).toEqual([]);
    expect(wakes(removeKey)).toContain("serviceAccounts team-a/bot");
  });

  test("by the labels of a namespace: what is in it", () => {
    const { put, wakes } = createCluster();
    const labelled =
      (labels: object, name = "team-a") =>
      () =>
        put("namespaces", name, { metadata: { labels } }, "");
    expect(wakes(labelled({ a: "1" }))).toEqual(users);
    expect(wakes(labelled({ a: "1" }))).toEqual([]);
    expect(wakes(labelled({ a: "2" }, "team-b"))).toEqual([]);
  });

  test("by the end of an account: those who wait for its claim, and the connection that counts its users", () => {
    const { put, wakes, login } = createCluster();
    const spec = { connectionRef: login };
    const remove = put("serviceAccounts", "twin", { spec, status: { saId: "sa-1" } });
    expect(wakes(remove)).toEqual(["connections team-a/console", "serviceAccounts team-a/bot"]);
  });
});
