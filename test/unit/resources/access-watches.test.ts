/** What enqueues the objects that use a connection, and what their queue waits for. */
import { expect, test } from "vitest";
import { keyText } from "../../../src/kube/resource.ts";
import { accessWatches } from "../../../src/resources/access-watches.ts";
import {
  accountOf,
  accountResource,
  connectionResource,
} from "../../../src/resources/queue-resources.ts";
import { accountKey, indexedAs } from "../../../src/resources/refs.ts";
import {
  clusterConnectionType,
  connectionType,
  namespaceType,
  serviceAccountType,
} from "../../../src/resources/resource-types.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { MemoryCluster } from "../../support/memory-cluster.ts";
import { rawSpec as spec } from "../kinds/connection/specs.ts";

const own = { kind: "Connection", name: "default" };

/** `ci` uses the ClusterConnection, `own` the Connection of its namespace, and `far` is in another namespace. */
function world() {
  const kube = new MemoryCluster(createFakeClock());
  const put = (namespace: string, name: string, accountSpec: object) =>
    kube.put(serviceAccountType, { metadata: { namespace, name }, spec: accountSpec });
  kube.put(clusterConnectionType, { metadata: { name: "default" }, spec });
  kube.put(connectionType, { metadata: { namespace: "team-a", name: "default" }, spec });
  put("team-a", "ci", {});
  put("team-a", "own", { connectionRef: own });
  put("team-b", "far", { connectionRef: own });
  const caches = kube.openCaches();
  let changed = (_: string) => {};
  const access = {
    onChange: (listener: typeof changed) => {
      changed = listener;
      return () => {};
    },
  };
  const enqueued: string[] = [];
  for (const { subscribe } of accessWatches(serviceAccountType, caches, { access }))
    subscribe((key) => void enqueued.push(keyText(key)));
  return { kube, caches, enqueued, changed: (connection: string) => changed(connection) };
}

type World = ReturnType<typeof world>;
const team = { name: "team-a" };
const inTeam = { namespace: "team-a", name: "default" };
const label = { metadata: { ...team, labels: { tier: "one" } } };

test.each<[string, (world: World) => void, readonly string[]]>([
  ["its login", ({ changed }) => changed("ClusterConnection/default"), ["team-a/ci"]],
  [
    "the spec of a ClusterConnection",
    ({ kube }) =>
      kube.edit(clusterConnectionType, { namespace: "", name: "default" }, (each) => {
        each.spec.suspend = true;
      }),
    ["team-a/ci"],
  ],
  [
    "the spec of a Connection",
    ({ kube }) =>
      kube.edit(connectionType, inTeam, (each) => {
        each.spec.suspend = true;
      }),
    ["team-a/own"],
  ],
  ["its existence", ({ kube }) => kube.remove(connectionType, inTeam), ["team-a/own"]],
  [
    "not a label of it",
    ({ kube }) =>
      kube.edit(connectionType, inTeam, (each) => {
        each.metadata.labels = { tier: "one" };
      }),
    [],
  ],
  [
    "the labels of the namespace",
    ({ kube }) => kube.put(namespaceType, label),
    ["team-a/ci", "team-a/own"],
  ],
  [
    "not its annotations",
    ({ kube }) => kube.put(namespaceType, { metadata: { ...team, annotations: { note: "x" } } }),
    [],
  ],
])("the users of a connection are reconciled after a change of %s", (_, change, keys) => {
  const started = world();
  change(started);
  expect(started.enqueued.sort()).toEqual(keys);
});

test("a run waits for its ClusterConnection; with a Connection it counts towards its namespace", () => {
  const { caches } = world();
  const resourceOf = (name: string) => accountResource(caches, { namespace: "team-a", name });
  expect(resourceOf("ci")).toBe("ClusterConnection/default");
  expect(resourceOf("own")).toBeUndefined();
  expect(resourceOf("none")).toBeUndefined();
  const named = { metadata: { name: "x" }, spec: { connectionRef: { name: "other" } } };
  expect(connectionResource(named as never)).toBe("ClusterConnection/other");
});

test("an object that names no account has none, and no entry in an index", () => {
  const { caches } = world();
  const naming = (name?: string) =>
    ({
      metadata: { namespace: "team-a", name: "key" },
      spec: { serviceAccountRef: name === undefined ? undefined : { name } },
    }) as never;
  expect(accountOf(caches, naming("ci"))?.metadata.name).toBe("ci");
  expect(accountOf(caches, naming("none"))).toBeUndefined();
  expect(accountOf(caches, naming())).toBeUndefined();
  expect(indexedAs(accountKey(naming("ci")))).toEqual(["team-a/ci"]);
  expect(indexedAs(accountKey(naming()))).toEqual([]);
});
