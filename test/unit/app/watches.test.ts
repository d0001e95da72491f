import { describe, expect, test } from "vitest";
import { kinds } from "../../../src/kinds/kinds.ts";
import { keyText } from "../../../src/kube/resource.ts";
import { emptyCache } from "../../support/memory-cluster.ts";

// biome-ignore lint/suspicious/noExplicitAny: objects as they travel
type Raw = any;

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
  const cache = emptyCache(kinds);
  const writers = new Map(
    cache.types.map(({ type, store }) => {
      const writer = store.openScope("");
      writer.beginReplace()([], "1");
      return [type.plural, writer];
    }),
  );
  const writerOf = (name: (typeof names)[number]) => {
    const writer = writers.get(name.toLowerCase());
    if (writer === undefined) throw new Error(name);
    return writer;
  };
  const listeners: Record<"changed" | "refused" | "outage", ((key: string) => void)[]> = {
    changed: [],
    refused: [],
    outage: [],
  };
  const sessions = {
    onChange: (each: (key: string) => void) => void listeners.changed.push(each),
    onRefused: (each: (key: string) => void) => void listeners.refused.push(each),
    onOutage: (each: (key: string) => void) => void listeners.outage.push(each),
  };
  const partsOfKinds = { registry: { sessions }, access: sessions } as never;
  const woken: string[] = [];
  for (const { type, watches } of kinds)
    for (const watch of watches?.(cache.caches, partsOfKinds) ?? [])
      watch.subscribe((key, afterMs = 0) =>
        woken.push(`${type.kind} ${keyText(key)}${afterMs > 0 ? ` in ${afterMs} ms` : ""}`),
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
    writerOf(kind).put(object);
    return () => {
      version += 1;
      writerOf(kind).remove({
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
  "ApiKey team-a/ci",
  "PolicyBinding team-a/bot",
  "ResourceQuotaExport team-a/quota",
  "ServiceAccount team-a/bot",
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
    expect(woken).toContain("ServiceAccount team-a/new");
    expect(woken).not.toContain("ApiKey team-a/waiting");
    const made = { spec: { connectionRef: login }, status: { saId: "sa-2" } };
    expect(wakes(() => put("serviceAccounts", "new", made))).toContain("ApiKey team-a/waiting");
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
      "Connection team-a/console",
    ]);
    expect(wakes(all(listeners.refused, "ClusterConnection/console"))).toEqual([
      "ClusterConnection console",
    ]);
    expect(wakes(all(listeners.outage, "ClusterConnection/console"))).toEqual([
      "ClusterConnection console",
    ]);
  });

  test("by an account: its keys, where what they take from it has changed, and the exports that list with its rights", () => {
    const { put, wakes, login } = createCluster();
    const spec: Record<string, unknown> = { connectionRef: login };
    const changed = (status: object) => () =>
      put("serviceAccounts", "bot", { spec, status: { saId: "sa-1", ...status } });
    expect(wakes(changed({ attempt: { id: "x" } }))).toEqual([]);
    const keys = ["ApiKey team-a/ci"];
    const exports = ["ResourceQuotaExport team-a/quota"];
    expect(wakes(changed({ state: "active" }))).toEqual([...keys, ...exports]);
    expect(wakes(changed({ state: "active", tpn: "tpn:x" }))).toEqual(keys);
    const ready = { state: "active", conditions: [{ type: "Ready", status: "True" }] };
    expect(wakes(changed(ready))).toEqual(keys);
    const bindings = { policies: [{ policyId: "read", state: "Declared" }] };
    expect(wakes(changed({ ...ready, bindings }))).toEqual(exports);
    spec.access = "Revoked";
    wakes(changed({ ...ready, bindings }));
    // Its own condition reports what is bound while access is revoked.
    const revoked = wakes(changed({ ...ready, bindings: { policies: [] } }));
    expect(revoked).toContain("ServiceAccount team-a/bot");
  });

  test("by a new account: its keys, once it can be used or says why not", () => {
    const { put, wakes, login } = createCluster();
    const spec = { connectionRef: login };
    const says = (status: "True" | "False", reason: string) => () =>
      put("serviceAccounts", "bot", {
        spec,
        status: { ownership, conditions: [{ type: "Ready", status, reason }] },
      });
    let ownership: string | undefined;
    wakes(() => put("serviceAccounts", "bot", { spec }));
    expect(wakes(says("False", "Creating"))).toEqual([]);
    expect(wakes(says("False", "AccountExists"))).toEqual(["ApiKey team-a/ci"]);
    ownership = "Owned";
    expect(wakes(says("True", "Created"))).toEqual(["ApiKey team-a/ci"]);
    // A console that does not answer proves nothing about the account.
    expect(wakes(says("False", "Unavailable"))).toEqual([]);
    ownership = "Gone";
    expect(wakes(says("False", "NotGranted"))).toEqual(["ApiKey team-a/ci"]);
  });

  test("by a key that came into use: exports that call with it, and its account; by its end: the account", () => {
    const { put, wakes, removeKey } = createCluster();
    const spec = { serviceAccountRef: { name: "bot" } };
    const key =
      (keyId: string, more: object = {}) =>
      () =>
        put("apiKeys", "ci", { spec, status: { current: { keyId }, ...more } });
    expect(wakes(key("k1"))).toEqual([
      "ResourceQuotaExport team-a/quota",
      "ServiceAccount team-a/bot in 1000 ms",
    ]);
    expect(wakes(key("k1", { renewalTime: "x" }))).toEqual([]);
    expect(wakes(removeKey)).toContain("ServiceAccount team-a/bot");
  });

  test("by an attempt whose call is over: its account; by what the account finds out: its ApiKey, once", () => {
    const { put, wakes, login } = createCluster();
    const attempt = (settled?: true) => () =>
      put("apiKeys", "ci", {
        spec: { serviceAccountRef: { name: "bot" } },
        status: { attempt: { id: "a1", settled } },
      });
    const account = (...ids: string[]) => {
      const explainedAttempts = ids.map((id) => ({ id, keyIds: [] }));
      const status = { saId: "sa-1", explainedAttempts };
      return () => put("serviceAccounts", "bot", { spec: { connectionRef: login }, status });
    };
    expect(wakes(attempt())).toEqual([]);
    expect(wakes(attempt(true))).toEqual(["ServiceAccount team-a/bot"]);
    expect(wakes(attempt(true))).toEqual([]);
    expect(wakes(account("a2"))).toEqual([]);
    expect(wakes(account("a2", "a1"))).toEqual(["ApiKey team-a/ci"]);
    expect(wakes(account("a2", "a1"))).toEqual([]);
    expect(wakes(account())).toEqual([]);
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
    expect(wakes(remove)).toEqual(["Connection team-a/console", "ServiceAccount team-a/bot"]);
  });
});
