/** Plans what the operator would do if objects were applied. No operator has to run. */
import { type Condition, isTrue } from "../../api/conditions.ts";
import { isConnectionKind } from "../../api/fields.ts";
import { ISSUANCE_ALLOWED, isPaused } from "../../api/issuance.ts";
import type { KindName } from "../../api/kinds.ts";
import type { PlannedCall } from "../../api/plan.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import {
  connectionKey,
  connectionOf,
  parseConnectionKey,
} from "../../connections/connection-key.ts";
import { createIamClient } from "../../console/client/console-client.ts";
import { createConnections } from "../../kinds/connection/registry.ts";
import type { KubeReader } from "../../kube/client/reader.ts";
import { type KubeObject, keyOf, keyText, type ObjectKey, parseKey } from "../../kube/resource.ts";
import type { Caches, Context } from "../../reconciler/context.ts";
import { serviceAccountType } from "../../resources/resource-types.ts";
import { silentLog } from "../../util/log.ts";
import type { Random } from "../../util/random.ts";
import type { Clock } from "../../util/time.ts";
import { toError } from "../../util/to-error.ts";
import { refuseMutation, toReadOnlyKube } from "../read-only.ts";
import { type GivenObject, isCustomResource } from "./given-object.ts";
import { createHypotheticalCluster, type HypotheticalCluster } from "./hypothetical-cluster.ts";
import { doubtOfImport } from "./imports.ts";
import { KnownConnections } from "./known-connections.ts";
import { listingPlanned } from "./planned-accounts.ts";
import {
  createPlanners,
  obstacleOf,
  type PlannedKind,
  type Planners,
  type Reporting,
} from "./planners.ts";
import { noEvents, noMetrics } from "./unobserved.ts";

interface PlanRequest {
  /** The only access to the cluster. */
  readonly kube: KubeReader;
  /** As they would be stored. */
  readonly objects: readonly GivenObject[];
  /** The namespace of the ClusterConnections' Secrets and ConfigMaps. */
  readonly operatorNamespace: string;
  readonly userAgent: string;
  /** The proxy to a console. */
  readonly egressFor: (console: { readonly baseURL: string; readonly proxyURL?: string }) => {
    readonly proxy?: string;
  };
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
}

export interface ObjectPlan {
  /** `Policies` has the calls for all PolicyBindings of the ServiceAccount with this key. */
  readonly kind: KindName | "Policies";
  readonly key: ObjectKey;
  readonly calls: readonly PlannedCall[];
  /** What the object would report after its calls, not being ready or issued no other key; or why that is unknown. */
  readonly obstacle: string | undefined;
  /** Whether the obstacle is only about the next key of an ApiKey, which would be ready. */
  readonly stopsNextKey?: boolean;
  /** Whether the cluster or the console could not be read, so that more calls may follow. */
  readonly isUnknown: boolean;
  /** Whether the stored object reports its obstacle already. */
  readonly isReported: boolean;
}

/**
 * Returns one plan for each connection, ServiceAccount, list of policies, PolicyBinding, ApiKey and ResourceQuotaExport,
 * in the order of reconciling. Logs in to the consoles concerned, and only reads from them. Rejects if the cluster cannot
 * be read.
 */
export async function planObjects(request: PlanRequest): Promise<readonly ObjectPlan[]> {
  const { clock, random, userAgent, signal } = request;
  const objects = request.objects.filter(isCustomResource);
  const cluster = await createHypotheticalCluster(request.kube, request.objects, request);
  const { caches } = cluster;
  const registry = createConnections({
    caches,
    clock,
    log: silentLog,
    createClient: (settings) =>
      createIamClient({
        ...settings,
        ...request.egressFor(settings),
        userAgent,
        clock,
        random,
        beforeMutation: refuseMutation,
      }),
  });
  const known = new KnownConnections(cluster);
  const context: Context = {
    kube: toReadOnlyKube(cluster.kube),
    caches,
    connections: listingPlanned(known.of(registry), caches),
    events: noEvents,
    metrics: noMetrics,
    log: silentLog,
    clock,
    random,
  };
  try {
    const plans: ObjectPlan[] = [];
    const planners = createPlanners(context, registry, request.operatorNamespace, (kind, key) =>
      plans.some((each) => isSame(each, { kind, key }) && each.calls.length > 0),
    );
    const isGiven = (step: Step) =>
      objects.some((each) => isSame({ kind: each.kind, key: keyOf(each) }, step));
    for (const step of stepsOf(objects, caches)) {
      const { kind, key } = step;
      const connection = isConnectionKind(kind)
        ? connectionKey({ kind, ...key }, key.namespace)
        : "";
      if (connection !== "") await known.read(connection);
      const made = await plan(step, planners, cluster, signal);
      const doubt = made.find(({ isUnknown }) => isUnknown)?.obstacle;
      if (connection !== "" && doubt !== undefined)
        known.note(connection, `cannot be used (${doubt})`);
      if (connection === "" || isGiven(step)) plans.push(...made);
    }
    return plans;
  } finally {
    await registry.close();
  }
}

interface Step {
  readonly kind: PlannedKind;
  readonly key: ObjectKey;
}

interface Named {
  readonly kind: string;
  readonly key: ObjectKey;
}

function isSame(one: Named, other: Named): boolean {
  return one.kind === other.kind && keyText(one.key) === keyText(other.key);
}

/** The planned statuses become part of the cluster, so later steps build on them. */
async function plan(
  { kind, key }: Step,
  planners: Planners,
  cluster: HypotheticalCluster,
  signal: AbortSignal,
): Promise<readonly ObjectPlan[]> {
  const planner = planners[kind];
  const before = planner.reporting(key);
  const { calls = [], objects = [], error } = (await planner.plan(key, signal)) ?? {};
  for (const { type, object } of objects) cluster.put(type, object);
  const step = { kind, key, calls };
  if (error !== undefined)
    return [{ ...step, obstacle: toError(error).message, isUnknown: true, isReported: false }];
  const reports = planner.reporting(key).map((each) => reportOf(each, before));
  if (kind === "Policies")
    return [{ ...step, obstacle: undefined, isUnknown: false, isReported: false }, ...reports];
  const doubt =
    kind === "ServiceAccount"
      ? before.map(({ object }) => doubtOfImport(object as ServiceAccount, cluster.isUnlisted))[0]
      : undefined;
  return reports.map((report) =>
    report.obstacle === undefined && doubt !== undefined
      ? { ...report, calls, obstacle: doubt, isUnknown: true }
      : { ...report, calls },
  );
}

/**
 * A connection that is suspended while it is ready stays ready: its session, which only the operator has, is kept. A
 * pause of the next key that the stored object reports is no news.
 */
function reportOf({ kind, object }: Reporting, before: readonly Reporting[]): ObjectPlan {
  const key = keyOf(object);
  const stored = before.find((each) => keyText(keyOf(each.object)) === keyText(key))?.object;
  const after = obstacleOf(object);
  const isStillReady =
    isConnectionKind(kind) &&
    after?.reason === "Suspended" &&
    isTrue(stored?.status?.conditions, "Ready");
  const text = textOf(after);
  const isReported = stored !== undefined && isSameReport(obstacleOf(stored), after);
  const isOldPause = isReported && after?.type === ISSUANCE_ALLOWED && isPaused(after);
  return {
    ...{ kind, key, calls: [], stopsNextKey: after?.type === ISSUANCE_ALLOWED },
    obstacle: isStillReady || isOldPause ? undefined : text,
    isUnknown: after?.reason === "ConsoleUnavailable",
    isReported,
  };
}

function textOf(obstacle: Condition | undefined): string | undefined {
  return obstacle && `${obstacle.reason}: ${obstacle.message}`;
}

/** A plan knows a refusal of policies only from its report. Each call to the console has an ID of its own. */
function isSameReport(before: Condition | undefined, after: Condition | undefined): boolean {
  if (after?.reason === "PolicyRefused") return before?.reason === after.reason;
  const withoutId = (text?: string) => text?.replaceAll(/\(request(?:Id)? [^)]*\)/g, "");
  return withoutId(textOf(before)) === withoutId(textOf(after));
}

/** Connections in use, accounts, their policies, their keys, exports: each step needs the steps before it. */
function stepsOf(objects: readonly GivenObject[], caches: Caches): readonly Step[] {
  const of = (kind: Exclude<PlannedKind, "Policies">): readonly Step[] =>
    objects.filter((each) => each.kind === kind).map((each) => ({ kind, key: keyOf(each) }));
  const accounts = accountsOf(objects);
  const users: readonly KubeObject[] = [
    ...accounts.flatMap((key) => caches.of(serviceAccountType).get(key) ?? []),
    ...objects.filter(({ kind }) => kind === "ResourceQuotaExport"),
  ];
  const connections = users.flatMap(connectionOf).map(parseConnectionKey);
  const steps = [
    ...of("ClusterConnection"),
    ...of("Connection"),
    ...connections,
    ...of("ServiceAccount"),
    ...accounts.map((key) => ({ kind: "Policies", key }) as const),
    ...of("ApiKey"),
    ...of("ResourceQuotaExport"),
  ];
  return [...new Map(steps.map((step) => [`${step.kind} ${keyText(step.key)}`, step])).values()];
}

/** Every ServiceAccount that is given, or that a given object refers to. */
function accountsOf(objects: readonly GivenObject[]): readonly ObjectKey[] {
  const keys = objects.flatMap((object): readonly ObjectKey[] => {
    if (object.kind === "ServiceAccount") return [keyOf(object)];
    const { serviceAccountRef } = (object.spec ?? {}) as Referring;
    const { namespace } = keyOf(object);
    return serviceAccountRef?.name === undefined
      ? []
      : [{ namespace, name: serviceAccountRef.name }];
  });
  return [...new Set(keys.map(keyText))].map(parseKey);
}

interface Referring {
  readonly serviceAccountRef?: { readonly name?: string };
}
