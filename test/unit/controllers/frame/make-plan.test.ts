/** Plans of a kind whose actions are those of the case. */
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { API_VERSION, FINALIZER } from "../../../../src/api/meta.ts";
import type { ServiceAccount } from "../../../../src/api/service-account.ts";
import type { KindController } from "../../../../src/controllers/frame/kind-controller.ts";
import { createReconciler } from "../../../../src/controllers/frame/reconciler.ts";
import type {
  KindTypes,
  Progress,
  ReadContext,
} from "../../../../src/controllers/frame/run-context.ts";
import { serviceAccountType } from "../../../../src/controllers/resource-types.ts";
import type { IamClient } from "../../../../src/iam/client/client.ts";
import { createMetrics } from "../../../../src/observability/metrics.ts";
import { silentLog } from "../../../../src/util/log.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { MemoryCluster } from "../../../support/memory-cluster.ts";

const KEY = { namespace: "team-a", name: "toy" };
type Kind = "Look" | "Create" | "Write" | "Delete" | "Note";

interface ToyKind extends KindTypes {
  readonly Object: ServiceAccount;
  readonly Spec: { readonly suspend: boolean };
  readonly Snapshot: { readonly object: ServiceAccount };
  readonly Done: readonly string[];
  readonly Action: { readonly kind: Kind };
  readonly State: string;
}

const client = {
  issueKey: async () => undefined,
  searchActions: async () => [],
} as unknown as IamClient;

function toy(actions: readonly Kind[]) {
  const clock = createFakeClock();
  const cluster = new MemoryCluster(clock);
  const noted: string[] = [];
  const states: (string | undefined)[] = [];
  const readers: ReadContext<ToyKind>[] = [];
  const line = (call: string) => ({ call, object: "team-a/x", message: `${call}.` });
  const effect = (call: string) => ({
    call: () => Promise.reject(new Error("a plan calls nothing")),
    planned: () => ({ answer: "assumed", line: line(call) }),
    after: ({ kind }: ToyKind["Action"], { snapshot, done }: Progress<ToyKind>, answer: string) => {
      const held = snapshot.object.metadata.finalizers?.includes(FINALIZER) ? " held" : "";
      return { snapshot, done: [...done, `${kind} ${answer}${held}`], remember: () => kind };
    },
  });
  const kind: KindController<ToyKind> = {
    type: serviceAccountType,
    parse: ({ spec }) => ({ ok: true, spec }),
    start: [],
    observe: async (object, _, { connections, state }) => {
      states.push(state);
      await connections.resolve({ kind: "ClusterConnection", name: "default" }, "team-a");
      return { object };
    },
    next: ({ done }) => {
      const kind = actions[done.length];
      return kind === undefined ? { kind: "Settled" } : { kind };
    },
    steps: {
      Look: {
        read: async (_, { snapshot, done }, run) => {
          readers.push(run);
          return { snapshot, done: [...done, "Look"], remember: () => "Look" };
        },
      },
      Create: { ...effect("create"), needsFinalizer: true },
      Write: effect("writeSecret"),
      Delete: effect("deleteSecret"),
      Note: {
        note: () => void noted.push("Note"),
        after: (_: unknown, { snapshot, done }: Progress<ToyKind>) => ({
          snapshot,
          done: [...done, "Note"],
        }),
      },
    },
    report: ({ snapshot: { object }, done }) => {
      const readiness = { state: "Ready", reason: "Done", message: done.join() } as const;
      return { objects: [{ type: serviceAccountType, object, status: {}, readiness }] };
    },
  };
  const access = { client, spec: {} as never, grant: {} as never };
  const { plan } = createReconciler(kind, {
    kube: cluster.client,
    caches: cluster.openCaches(),
    connections: { resolve: async () => ({ ok: true, access }) },
    events: { record: () => undefined },
    metrics: createMetrics(new Registry()),
    log: silentLog,
    clock,
    random: { fraction: () => 0.5, id: () => "id" },
  });
  cluster.put(serviceAccountType, {
    apiVersion: API_VERSION,
    kind: "ServiceAccount",
    metadata: KEY,
    spec: { suspend: false },
  });
  const planned = async () => {
    const object = cluster.peek(serviceAccountType, KEY) as ServiceAccount;
    const { calls, objects } = await plan(object, { signal: new AbortController().signal });
    const [ready] = objects[0]?.object.status?.conditions ?? [];
    return { calls: calls.map(({ call }) => call), done: ready?.message };
  };
  return { planned, cluster, noted, states, readers };
}

test("a plan calls nothing and goes on with what it assumes", async () => {
  const { planned, cluster, noted } = toy(["Look", "Create", "Note", "Write"]);
  expect(await planned()).toEqual({
    calls: ["create", "writeSecret"],
    done: "Look,Create assumed held,Note,Write assumed held",
  });
  expect([cluster.writes, noted]).toEqual([[], []]);
});

test.each<[readonly Kind[], readonly string[]]>([
  [["Write", "Write"], ["writeSecret"]],
  [["Write", "Delete"], []],
  [["Delete"], ["deleteSecret"]],
])("the lines of %j are %j", async (actions, lines) => {
  expect((await toy(actions).planned()).calls).toEqual(lines);
});

test("a plan keeps what it has learned by reading, and nothing that it assumes", async () => {
  const { planned, states } = toy(["Look", "Write", "Look"]);
  await planned();
  await planned();
  expect(states).toEqual([undefined, "Look"]);
});

test("a read in a plan is given nothing that writes", async () => {
  const { planned, readers } = toy(["Look"]);
  await planned();
  const [run] = readers;
  expect(Object.keys(run?.kube ?? {})).toEqual(["get", "list", "collect"]);
  expect(run?.tryCreate).toBeUndefined();
  expect(run).not.toHaveProperty("setState");
  expect(run).not.toHaveProperty("writeStatus");
  const console = run?.console(0);
  expect(console?.searchActions).toBeDefined();
  expect(console).not.toHaveProperty("issueKey");
});
