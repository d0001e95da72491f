/** What a run is given that only plans: it reads what every run reads, and can change nothing. */
import type { IamClient } from "../../../iam/client/client.ts";
import { toIamReader } from "../../../iam/client/reader.ts";
import { toKubeReader } from "../../../kube/client/reader.ts";
import type { EventRecorder } from "../../../kube/events/event-recorder.ts";
import type { KubeObject } from "../../../kube/resource.ts";
import type { Store } from "../../../kube/store/store.ts";
import type { Metrics } from "../../../observability/metrics.ts";
import { silentLog } from "../../../util/log.ts";
import type { Caches, Connections, Context } from "../context.ts";
import { overlayConsole } from "./console-overlay.ts";
import { overlayKube } from "./kube-overlay.ts";
import type { PlanLog } from "./plan-log.ts";

export function planningContext(context: Context, plan: PlanLog): Context {
  const { kube, caches, connections, clock, random } = context;
  return {
    kube: overlayKube(toKubeReader(kube), plan),
    caches: unwritten(caches),
    connections: overlayConnections(connections, plan),
    events: noEvents,
    metrics: noMetrics,
    log: silentLog,
    clock,
    random,
    isPlan: true,
  };
}

/** One overlay a console, so that a plan sees what it has planned before. */
export function overlayConnections(connections: Connections, plan: PlanLog): Connections {
  const overlays = new Map<IamClient, IamClient>();
  return {
    resolve: async (ref, namespace) => {
      const found = await connections.resolve(ref, namespace);
      // Its client would carry out what is only planned.
      if (!found.ok) {
        const { ungranted: _, ...rest } = found;
        return rest;
      }
      const { client } = found.access;
      const overlay = overlays.get(client) ?? overlayConsole(toIamReader(client), plan);
      overlays.set(client, overlay);
      return { ok: true, access: { ...found.access, client: overlay } };
    },
  };
}

/** The caches hold what is stored: what is only planned does not get in. */
function unwritten({ secrets, ...caches }: Caches): Caches {
  return {
    clusterConnections: view(caches.clusterConnections),
    connections: view(caches.connections),
    serviceAccounts: view(caches.serviceAccounts),
    apiKeys: view(caches.apiKeys),
    policyBindings: view(caches.policyBindings),
    resourceQuotaExports: view(caches.resourceQuotaExports),
    namespaces: view(caches.namespaces),
    secrets: {
      synced: secrets.synced,
      isWatched: secrets.isWatched,
      get: (key) => secrets.get(key),
      isCurrent: (key) => secrets.isCurrent(key),
      subscribe: (listener) => secrets.subscribe(listener),
      write: (_, call) => call(),
    },
  };
}

function view<T extends KubeObject>(store: Store<T>): Store<T> {
  return {
    synced: store.synced,
    allCurrent: store.allCurrent,
    get: (key) => store.get(key),
    list: () => store.list(),
    byIndex: (index, value) => store.byIndex(index, value),
    countByIndex: (index, value) => store.countByIndex(index, value),
    isCurrent: (key) => store.isCurrent(key),
    subscribe: (listener) => store.subscribe(listener),
    noteWrite: () => undefined,
  };
}

export const noEvents: EventRecorder = { record: () => undefined };

const ignored: unknown = new Proxy(() => ignored, { get: () => ignored });
/** Takes every call and keeps nothing. */
export const noMetrics = ignored as Metrics;
