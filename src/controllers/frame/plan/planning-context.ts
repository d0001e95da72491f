/** The context of a run that only plans: it reads the same data as every run and cannot change anything. */
import type { IamClient } from "../../../iam/client/client.ts";
import { toIamReader } from "../../../iam/client/reader.ts";
import { toKubeReader } from "../../../kube/client/reader.ts";
import type { EventRecorder } from "../../../kube/events/event-recorder.ts";
import type { Metrics } from "../../../observability/metrics.ts";
import { silentLog } from "../../../util/log.ts";
import type { Connections, Context } from "../context.ts";
import { overlayConsole } from "./console-overlay.ts";
import { overlayKube } from "./kube-overlay.ts";
import type { PlanLog } from "./plan-log.ts";

export function planningContext(context: Context, plan: PlanLog): Context {
  const { kube, caches, connections, clock, random } = context;
  return {
    kube: overlayKube(toKubeReader(kube), plan),
    caches,
    connections: overlayConnections(connections, plan),
    events: noEvents,
    metrics: noMetrics,
    log: silentLog,
    clock,
    random,
    isPlan: true,
  };
}

/** One overlay per console client, so that a plan sees its own earlier planned changes. */
export function overlayConnections(connections: Connections, plan: PlanLog): Connections {
  const overlays = new Map<IamClient, IamClient>();
  return {
    resolve: async (ref, namespace) => {
      const found = await connections.resolve(ref, namespace);
      // Its client would carry out the planned calls.
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

export const noEvents: EventRecorder = { record: () => undefined };

const ignored: unknown = new Proxy(() => ignored, { get: () => ignored });
/** Accepts every call and records nothing. */
export const noMetrics = ignored as Metrics;
