/** One namespace, one reference console, and the policy-binding reconciler between them. */
import { Registry } from "prom-client";
import type { Rights } from "../../../../src/api/connection.ts";
import { API_VERSION, FINALIZER } from "../../../../src/api/meta.ts";
import type { PolicyBindingStatus } from "../../../../src/api/policy-binding.ts";
import type { ServiceAccount } from "../../../../src/api/service-account.ts";
import { NO_RIGHTS } from "../../../../src/controllers/connection/rules/effective-grant.ts";
import type { Context } from "../../../../src/controllers/frame/context.ts";
import { stalled } from "../../../../src/controllers/frame/rules/waiting.ts";
import {
  createAccountStore,
  toRef,
} from "../../../../src/controllers/policy-binding/account-store.ts";
import { createAccountBindingsController } from "../../../../src/controllers/policy-binding/controller.ts";
import {
  policyBindingType,
  serviceAccountType,
} from "../../../../src/controllers/resource-types.ts";
import type { EventNote } from "../../../../src/kube/events/event-recorder.ts";
import { createMetrics } from "../../../../src/observability/metrics.ts";
import type { Result } from "../../../../src/runtime/result.ts";
import { silentLog } from "../../../../src/util/log.ts";
import { MINUTE } from "../../../../src/util/time.ts";
import type { Shapes } from "../../../iam-server/shapes.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { MemoryCluster } from "../../../support/memory-cluster.ts";
import { clientOf, startConsole } from "../../iam/clients.ts";

export const KEY = { namespace: "team-a", name: "ci-bot" };

export interface WorldOptions {
  readonly shapes?: Partial<Shapes>;
  readonly origin?: "Created" | "Imported";
  readonly grant?: readonly string[];
  readonly withdrawsPolicies?: boolean;
  readonly retainPolicies?: boolean;
  readonly gracePeriodMs?: number | "Never";
  readonly account?: Partial<ServiceAccount["spec"]>;
  readonly ready?: boolean;
  readonly synced?: boolean;
}

export async function accountWorld(options: WorldOptions = {}) {
  const console = await startConsole({ shapes: options.shapes ?? {} });
  const record = console.world.createAccount({
    orgId: "org-1",
    projectId: "prj-1",
    name: "team-a-ci-bot",
    description: "",
  });
  const client = clientOf(console);
  const clock = createFakeClock();
  const kube = new MemoryCluster(clock);
  const events: EventNote[] = [];
  const metrics = createMetrics(new Registry());
  const state = { grant: options.grant ?? ["*"], connected: true, granted: true };
  const caches = kube.openCaches((options.synced ?? true) ? [] : [policyBindingType]);
  const context: Context = {
    kube: kube.client,
    caches,
    connections: {
      resolve: async () => {
        if (!state.connected) return { ok: false, waiting: stalled("NotGranted", "No grant.") };
        if (!state.granted) {
          const { gracePeriodMs = 10 * MINUTE } = options;
          const ms = gracePeriodMs === "Never" ? undefined : gracePeriodMs;
          return {
            ok: false,
            waiting: stalled("NotGranted", "No grant."),
            grant: NO_RIGHTS,
            ungranted: { client, spec: { baseURL: console.url } as never, gracePeriodMs: ms },
          };
        }
        const grant: Rights = {
          policyIds: [...state.grant],
          withdrawsPolicies: options.withdrawsPolicies ?? true,
          retainPolicies: options.retainPolicies ?? true,
          importServiceAccounts: true,
          maxExpiresInDays: 90,
          projectIds: [],
          quotaExports: [],
        };
        return { ok: true, access: { client, spec: { baseURL: console.url } as never, grant } };
      },
    },
    events: { record: (_, note) => void events.push(note) },
    metrics,
    log: silentLog,
    clock,
    random: { fraction: () => 0.5, id: () => "id" },
  };

  const putAccount = (spec: object = {}, metadata: object = {}, status: object = {}) => {
    const old = kube.peek(serviceAccountType, KEY);
    kube.put(serviceAccountType, {
      apiVersion: API_VERSION,
      kind: "ServiceAccount",
      metadata: { ...old?.metadata, ...KEY, finalizers: [FINALIZER], ...metadata },
      spec: { ...old?.spec, ...spec },
      status: {
        saId: record.saId,
        tpn: record.tpn,
        orgId: record.orgId,
        origin: options.origin ?? "Created",
        conditions: [
          {
            type: "Ready",
            status: (options.ready ?? true) ? "True" : "False",
            reason: (options.ready ?? true) ? "Ready" : "Creating",
            message: "",
            lastTransitionTime: "2026-01-01T00:00:00Z",
          },
        ],
        ...old?.status,
        ...status,
      },
    });
  };
  putAccount(options.account ?? {});

  let reconciler = createAccountBindingsController(context);
  const accounts = createAccountStore(caches);
  const pass = (): Promise<Result> =>
    reconciler.reconcile(toRef(KEY), { id: "pass", signal: new AbortController().signal });

  const condition = (name: string, type: string) =>
    (
      kube.peek(policyBindingType, { namespace: KEY.namespace, name })?.status as
        | PolicyBindingStatus
        | undefined
    )?.conditions?.find((each) => each.type === type);

  return {
    console,
    kube,
    clock,
    events,
    metrics,
    context,
    accounts,
    pass,
    putAccount,
    grant: (ids: readonly string[]) => {
      state.grant = ids;
    },
    /** Whether a grant matches the namespace. */
    setGranted: (granted: boolean) => {
      state.granted = granted;
    },
    /** The connection cannot be used. */
    disconnect: () => {
      state.connected = false;
    },
    /** As a new process would: nothing is remembered. */
    restart: () => {
      reconciler = createAccountBindingsController(context);
    },
    bind: (
      name: string,
      policyIds: readonly string[],
      spec: object = {},
      metadata: object = {},
    ) => {
      const key = { namespace: KEY.namespace, name };
      const old = kube.peek(policyBindingType, key);
      kube.put(policyBindingType, {
        ...old,
        apiVersion: API_VERSION,
        kind: "PolicyBinding",
        metadata: {
          creationTimestamp: "2026-01-01T00:00:00Z",
          ...old?.metadata,
          ...key,
          ...metadata,
        },
        spec: { serviceAccountRef: { name: KEY.name }, policyIds, ...spec },
      });
    },
    unbind: (name: string) => kube.remove(policyBindingType, { namespace: KEY.namespace, name }),
    /** Passes until one asks for nothing soon. */
    settle: async () => {
      for (let count = 0; count < 60; count += 1) {
        const { requeueAfterMs = 3_600_000 } = await pass();
        if (requeueAfterMs > 6_000) return;
        await clock.advance(requeueAfterMs);
      }
      throw new Error("does not settle");
    },
    bound: () => [...console.world.boundTo(record.tpn)].sort(),
    bindAtConsole: (policyIds: readonly string[]) =>
      console.world.replaceBindings(record.tpn, policyIds),
    puts: () => console.requests.of("syncBindings").map(({ body }) => policiesOf(body)),
    calls: () => console.requests.all.filter(({ operation }) => operation !== "login").length,
    status: (name: string): PolicyBindingStatus =>
      kube.peek(policyBindingType, { namespace: KEY.namespace, name })?.status ?? {},
    condition,
    ready: (name: string) => condition(name, "Ready")?.reason,
    stalled: (name: string) => condition(name, "Stalled")?.reason,
    message: (name: string) => condition(name, "Ready")?.message ?? "",
    exists: (name: string) =>
      kube.peek(policyBindingType, { namespace: KEY.namespace, name }) !== undefined,
    record: () => kube.peek(serviceAccountType, KEY)?.status?.bindings,
  };
}

function policiesOf(body: unknown): readonly string[] {
  return (body as { policyIds: readonly string[] }).policyIds;
}
