import { expect, test } from "vitest";
import type { ClusterConnection, Connection } from "../../../../src/api/connection.ts";
import { clientIdentity } from "../../../../src/connections/client-settings.ts";
import type { IamClient } from "../../../../src/console/client/client.ts";
import {
  type ConnectionRegistry,
  createConnections,
} from "../../../../src/kinds/connection/registry.ts";
import type { Session } from "../../../../src/kinds/connection/sessions.ts";
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
  identity: { uid, spec: clientIdentity(connectionSpec(spec)), inputs: "s/1" },
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

const waiting = (reason: string, message?: string, state = "Reconciling") => ({
  ok: false,
  waiting: { kind: "Waiting", state, reason, ...(message === undefined ? {} : { message }) },
});
const notGranted = waiting(
  "NotGranted",
  "No grant of ClusterConnection default matches namespace team-b. Ask the administrator of ClusterConnection default to add the namespace to namespaces.names of a grant, to label it as the selector of a grant requires, or to add a grant to spec.grants.",
  "Stalled",
);
const notFound = waiting(
  "ConnectionNotFound",
  "Connection team-a/other does not exist; create it, or create this object again with another spec.connectionRef.",
);
const isSuspended = waiting(
  "ConnectionSuspended",
  "Connection team-a/suspended is suspended: no call is made over it until its spec.suspend is false.",
  "Stalled",
);
const refused = waiting(
  "ConnectionNotReady",
  "ClusterConnection default is not ready (MfaRequired); check its conditions.",
  "Stalled",
);
const notReady = waiting("ConnectionNotReady");
const mfa = { usable: false, reason: "MfaRequired" };

interface Given {
  /** Of ClusterConnection default. */
  readonly session?: Partial<Session>;
  readonly namespace?: string;
  /** A Connection of the namespace. */
  readonly ref?: string;
}

test.each<[string, Given, object]>([
  [
    "a granted namespace gets the client and its rights",
    { session: {} },
    { ok: true, access: { client, grant: { policyIds: ["p1"] } } },
  ],
  [
    "a namespace that no grant matches is told what to add",
    { session: {}, namespace: "team-b" },
    notGranted,
  ],
  ["a connection that does not exist is named", { ref: "other" }, notFound],
  ["a suspended connection waits for a person", { ref: "suspended" }, isSuspended],
  ["a refused login shows its reason only, and waits for a person", { session: mfa }, refused],
  [
    "a console that does not respond may recover",
    { session: { usable: false, reason: "ConsoleUnavailable" } },
    notReady,
  ],
  [
    "a session of an earlier connection is not used",
    { session: session("u0", { grants }) },
    notReady,
  ],
  [
    "a session of an earlier spec is not used",
    { session: session("u1", { orgId: "org-0" }) },
    notReady,
  ],
  [
    "a session outlives a change of the grants",
    { session: session("u1", { grants: [] }) },
    { ok: true },
  ],
])("%s", async (_, { session: changes, namespace = "team-a", ref }, found) => {
  const { connections } = world();
  if (changes !== undefined) ready(connections, changes);
  const to = ref === undefined ? toShared : ({ kind: "Connection", name: ref } as const);
  expect(await connections.resolve(to, namespace)).toMatchObject(found);
});

test("a Connection of the namespace gives all rights", async () => {
  const { connections } = world();
  connections.sessions.put("Connection/team-a/own", session("u2", {}));
  connections.noteChecked("Connection/team-a/own");
  const found = await connections.resolve({ kind: "Connection", name: "own" }, "team-a");
  const grant = { policyIds: ["*"], importServiceAccounts: true };
  expect(found).toMatchObject({ ok: true, access: { grant } });
});

test("what comes before the first login waits for it", async () => {
  const { clock, connections } = world();
  const found = connections.resolve(toShared, "team-a");
  await clock.settle();
  ready(connections);
  expect(await found).toMatchObject({ ok: true });
  expect(clock.pendingTimers).toBe(0);
});

test("a connection that was deleted and created again is waited for again", async () => {
  const { clock, connections } = world();
  ready(connections);
  connections.forget("ClusterConnection/default");
  let isFound = false;
  const found = connections.resolve(toShared, "team-a").then((access) => {
    isFound = true;
    return access;
  });
  await clock.settle();
  expect(isFound).toBe(false);
  ready(connections);
  expect(await found).toMatchObject({ ok: true });
});

test("but not for ever", async () => {
  const { clock, connections } = world();
  const found = connections.resolve(toShared, "team-a");
  await clock.advance(5_000);
  expect(await found).toMatchObject({ ok: false, waiting: { reason: "ConnectionNotReady" } });
});
