/** Events about the operator's custom resources. */
import { GROUP } from "../../api/meta.ts";
import { type ClusterEvent, eventType } from "../../kube/resource-types.ts";
import { type Instant, parseInstant } from "../../util/time.ts";
import type { Cluster } from "./cluster.ts";
import type { AnyObject, ObjectName } from "./kinds.ts";

export interface IamEvent {
  readonly time: string;
  readonly type: string;
  readonly reason: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Of the object; absent if the event does not say. */
  readonly uid?: string | undefined;
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

/** Pure. Whether the event is about an object of that kind and name, and not about a deleted object of the same name. */
export function isAbout(
  { kind, name, uid }: Pick<IamEvent, "kind" | "name" | "uid">,
  wanted: ObjectName,
  object: Pick<AnyObject, "metadata"> | undefined,
): boolean {
  const isSame = object === undefined || uid === undefined || uid === object.metadata.uid;
  return kind === wanted.kind && name === wanted.name && isSame;
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
    uid: regarding.uid,
    note: event.note ?? "",
    count: series?.count ?? 1,
  };
}
