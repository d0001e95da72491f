/** Events about the operator's custom resources. */
import { GROUP } from "../../api/meta.ts";
import { type ClusterEvent, eventType } from "../../kube/resource-types.ts";
import { type Instant, parseInstant } from "../../util/time.ts";
import type { Cluster } from "./cluster.ts";

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

/** Sorted by time, the latest last. */
export async function listEvents(
  { kube }: Cluster,
  namespace: string | undefined,
  name?: string,
): Promise<readonly IamEvent[]> {
  const events = await kube.list(eventType, {
    namespace,
    fieldSelector: name && `regarding.name=${name}`,
  });
  return events.flatMap((event) => toIamEvent(event) ?? []).sort((a, b) => at(a) - at(b));
}

const at = ({ time }: IamEvent): Instant => parseInstant(time) ?? 0;

/** `undefined` if the event is not about one of the operator's custom resources. */
export function toIamEvent(event: ClusterEvent): IamEvent | undefined {
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
