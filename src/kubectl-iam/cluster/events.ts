/** Events about objects of ours. */
import { GROUP } from "../../api/meta.ts";
import type { KubeObject, ResourceType } from "../../kube/resource.ts";
import { type Instant, parseInstant } from "../../util/time.ts";
import type { Cluster } from "./cluster.ts";

export interface EventObject extends KubeObject {
  readonly regarding?: {
    readonly apiVersion?: string;
    readonly kind?: string;
    readonly name?: string;
    readonly namespace?: string;
    readonly uid?: string;
  };
  readonly type?: string;
  readonly reason?: string;
  readonly note?: string;
  readonly eventTime?: string;
  readonly deprecatedLastTimestamp?: string;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string };
}

export const eventType: ResourceType<EventObject> = {
  group: "events.k8s.io",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
};

export interface IamEvent {
  readonly time: string;
  readonly type: string;
  readonly reason: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly note: string;
  readonly count: number;
}

/** The latest last. */
export async function listEvents(
  { kube }: Cluster,
  namespace: string | undefined,
  name?: string,
): Promise<readonly IamEvent[]> {
  const events = await kube.list(eventType, {
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { fieldSelector: `regarding.name=${name}` }),
  });
  return events.flatMap((event) => toIamEvent(event) ?? []).sort((a, b) => at(a) - at(b));
}

const at = ({ time }: IamEvent): Instant => parseInstant(time) ?? 0;

/** `undefined` where the event is not about an object of ours. */
export function toIamEvent(event: EventObject): IamEvent | undefined {
  const { regarding, series, metadata } = event;
  if (regarding?.apiVersion?.startsWith(`${GROUP}/`) !== true) return undefined;
  return {
    time:
      series?.lastObservedTime ??
      event.deprecatedLastTimestamp ??
      event.eventTime ??
      metadata.creationTimestamp ??
      "",
    type: event.type ?? "Normal",
    reason: event.reason ?? "",
    kind: regarding.kind ?? "",
    namespace: regarding.namespace ?? "",
    name: regarding.name ?? "",
    note: event.note ?? "",
    count: series?.count ?? 1,
  };
}
