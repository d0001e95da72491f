import { expect, test } from "vitest";
import type { ClusterConnection, Connection } from "../../../../src/api/connection.ts";
import { clientIdentity } from "../../../../src/connections/client-settings.ts";
import {
  type ConnectionRegistry,
  createConnections,
} from "../../../../src/controllers/connection/registry.ts";
import type { Session } from "../../../../src/controllers/connection/sessions.ts";
import type { IamClient } from "../../../../src/iam/client/client.ts";
import type { KubeObject } from "../../../../src/kube/resource.ts";
import { createStore } from "../../../../src/kube/store/memory-store.ts";
import { silentLog } from "../../../../src/util/log.ts";
import { cachesWith } from "../../../support/caches-with.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { connectionSpec, rawSpec } from "./specs.ts";

const client = {} as IamClient;
const grants = [{ name: "team-a", namespaces: { names: ["team-a"] }, policyIds: ["p1"] }];
const shared = {
  metadata: { name: "default", uid: "u1" },
  spec: { ...rawSpec, grants },
} as unknown as ClusterConnection;
const own = {
  metadata: { name: "own", namespace: "team-a", uid: "u2" },
  spec: rawSpec,
} as unknown as Connection;
const suspended = {
  metadata: { name: "suspended", namespace: "team-a", uid: "u3" },
  spec: { ...rawSpec, suspend: true },
} as unknown as Connection;
const session = (uid: string, spec: object): Session => ({
  identity: { uid, spec: clientIdentity(connectionSpec(spec)), material: "s/1" },
  client,
  usable: true,
  reason: "",
});

function storeOf<T extends KubeObject>(...objects: T[]) {
  const store = createStore<T>({ onListenerError: () => undefined });
  store.openScope("").beginReplace()(objects, "1");
  return store;
}

function world() {
  const clock = createFakeClock();
  const caches = cachesWith({
    clusterconnections: storeOf(shared),
    connections: storeOf(own, suspended),
    namespaces: storeOf<KubeObject>(),
  });
  const createClient = () => client;
  return { clock, connections: createConnections({ caches, clock, log: silentLog, createClient }) };
}

const key = "ClusterConnection/default";
const toShared = { kind: "ClusterConnection", name: "default" } as const;
const ready = (registry: ConnectionRegistry, changes: Partial<Session> = {}) => {
  registry.sessions.put(key, { ...session("u1", { grants }), ...changes });
  registry.noteChecked(key);
};

const refused = (state: "Reconciling" | "Stalled", reason: string, message: string) => ({
  ok: false,
  waiting: { kind: "Waiting", state, reason, message },
});

test.each<{
  name: string;
  arrange?: (registry: ConnectionRegistry) => void;
  namespace?: string;
  ref?: Parameters<ConnectionRegistry["resolve"]>[0];
  found: object;
}>([
  {
    name: "a granted namespace gets the client and its rights",
    arrange: ready,
    found: { ok: true, access: { client, grant: { policyIds: ["p1"] } } },
  },
  {
    name: "a namespace that no grant matches is told what to add",
    arrange: ready,
    namespace: "team-b",
    found: refused(
      "Stalled",
      "NotGranted",
      "No grant of ClusterConnection default matches namespace team-b. Ask its administrator to add the namespace to spec.grants[].namespaces.names, or to label the namespace as a selector of spec.grants requires.",
    ),
  },
  {
    name: "a connection that does not exist is named",
    ref: { kind: "Connection", name: "other" },
    found: refused(
      "Reconciling",
      "ConnectionNotFound",
      "Connection team-a/other does not exist; create it, or name another connection in spec.connectionRef.",
    ),
  },
  {
    name: "a suspended connection waits for a person",
    ref: { kind: "Connection", name: "suspended" },
    found: refused(
      "Stalled",
      "ConnectionSuspended",
      "Connection team-a/suspended is suspended: no call is made over it until its spec.suspend is false.",
    ),
  },
  {
    name: "a refused login shows its reason only",
    arrange: (registry) => ready(registry, { usable: false, reason: "MfaRequired" }),
    found: refused(
      "Reconciling",
      "ConnectionNotReady",
      "ClusterConnection default is not ready (MfaRequired); check its conditions.",
    ),
  },
  {
    name: "a session of an earlier connection of that name is not used",
    arrange: (registry) => ready(registry, session("u0", { grants })),
    found: { ok: false, waiting: { reason: "ConnectionNotReady" } },
  },
  {
    name: "a session of an earlier spec is not used",
    arrange: (registry) => ready(registry, session("u1", { orgId: "org-0" })),
    found: { ok: false, waiting: { reason: "ConnectionNotReady" } },
  },
  {
    name: "a session outlives a change of the grants",
    arrange: (registry) => ready(registry, session("u1", { grants: [] })),
    found: { ok: true },
  },
  {
    name: "a Connection of the namespace gives all rights",
    ref: { kind: "Connection", name: "own" },
    arrange: (registry) => {
      registry.sessions.put("Connection/team-a/own", session("u2", {}));
      registry.noteChecked("Connection/team-a/own");
    },
    found: { ok: true, access: { grant: { policyIds: ["*"], importServiceAccounts: true } } },
  },
])("$name", async ({ arrange, namespace = "team-a", ref = toShared, found }) => {
  const { connections } = world();
  arrange?.(connections);
  expect(await connections.resolve(ref, namespace)).toMatchObject(found);
});

test("what comes before the first login waits for it", async () => {
  const { clock, connections } = world();
  const waiting = connections.resolve(toShared, "team-a");
  await clock.settle();
  ready(connections);
  expect(await waiting).toMatchObject({ ok: true });
  expect(clock.pendingTimers).toBe(0);
});

test("but not for ever", async () => {
  const { clock, connections } = world();
  const waiting = connections.resolve(toShared, "team-a");
  await clock.advance(5_000);
  expect(await waiting).toMatchObject({ ok: false, waiting: { reason: "ConnectionNotReady" } });
});
