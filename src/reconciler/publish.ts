/** Writes statuses and events: the only file that does. Gauges of objects are collected from their statuses. */
import { isDeepStrictEqual } from "node:util";
import { API_VERSION, type IamObject } from "../api/meta.ts";
import { isKubeError, type KubeErrorCode } from "../kube/errors.ts";
import { keyOf, type ResourceType } from "../kube/resource.ts";
import { readTime } from "../util/agreed-time.ts";
import type { Context } from "./context.ts";
import { StatusUnanswered } from "./errors.ts";
import { conditionEvents } from "./rules/condition-events.ts";
import { removalOf } from "./rules/leftovers.ts";
import {
  type EventOf,
  type ObjectReport,
  type Report,
  type StatusWriteOptions,
  statusOf,
  warningsOf,
} from "./rules/report.ts";
import type { UnansweredStatuses } from "./unanswered-statuses.ts";

const UNANSWERED: ReadonlySet<KubeErrorCode> = new Set([
  "Timeout",
  "Unavailable",
  "MalformedResponse",
]);

export interface StatusWriteContext extends Pick<Context, "kube"> {
  /** The watch may show such a status later, so the next one is written even if it equals the known status. */
  readonly unanswered?: UnansweredStatuses;
}

type PublishContext = Pick<Context, "events" | "clock"> &
  StatusWriteContext & { readonly reportSignal: AbortSignal };

/** Publishes in the order of the report. Rejects at the first status that cannot be written. */
export async function publish(
  { objects, events = [] }: Pick<Report, "objects" | "events">,
  context: PublishContext,
): Promise<void> {
  for (const each of objects) {
    const { object } = each;
    const written = await publishStatus(each, context);
    const before = object.status?.conditions;
    const after = written.status?.conditions;
    const changes = conditionEvents(before, after, warningsOf(each));
    publishEvents(
      changes.map((event) => ({ object, event })),
      context,
    );
  }
  publishEvents(events, context);
}

/** Writes one status without events. Returns the written object. */
export async function publishStatus(
  report: ObjectReport,
  context: Omit<PublishContext, "events">,
): Promise<ObjectReport["object"]> {
  const { type, object, write } = report;
  const { clock, reportSignal: signal } = context;
  return writeStatus(context, type, object, statusOf(report, readTime(clock)), {
    ...write,
    signal,
  });
}

export function publishEvents(
  events: readonly EventOf[],
  { events: recorder }: Pick<Context, "events">,
): void {
  for (const { object, event } of events) {
    const { kind, metadata } = object;
    recorder.record({ apiVersion: API_VERSION, kind, metadata }, event);
  }
}

/**
 * Makes `status` the whole status of `object` by one server-side apply, unless it already is; fields that users added
 * take one more write. Returns the written object. The API server does not compare the uid in a write of a status, only
 * the resource version, so the known version is the precondition. If the object has changed and `resourceVersion` was
 * not given, the object is read again to compare its uid, and then written anyway.
 */
export async function writeStatus<T extends IamObject<unknown, unknown>>(
  { kube, unanswered }: StatusWriteContext,
  type: ResourceType<T>,
  object: T,
  status: NonNullable<T["status"]>,
  options: StatusWriteOptions = {},
): Promise<T> {
  const { resourceVersion, foreignFields = [], fieldManager, signal } = options;
  const { name, namespace, uid, resourceVersion: known } = object.metadata;
  const wanted = without(foreignFields, asJson(status));
  const stored = without(foreignFields, object.status ?? {});
  const isKnown = isDeepStrictEqual(wanted, stored);
  if (isKnown && !unanswered?.has(uid)) return object;
  const apply = (version: string | undefined) => {
    const body = {
      apiVersion: API_VERSION,
      kind: type.kind,
      metadata: {
        name,
        ...(namespace === undefined ? {} : { namespace }),
        uid,
        ...(version === undefined ? {} : { resourceVersion: version }),
      },
      status: wanted,
    };
    return kube.apply<T>(type, body, {
      subresource: "status",
      fieldManager,
      signal,
    });
  };
  const written = await apply(resourceVersion ?? known)
    .catch((error: unknown) => {
      if (resourceVersion !== undefined || !isKubeError(error, "Conflict")) throw error;
      return apply(undefined);
    })
    .catch((error: unknown) => {
      if (!isKubeError(error) || !UNANSWERED.has(error.code)) throw error;
      unanswered?.note(uid);
      throw new StatusUnanswered(error);
    });
  unanswered?.answered(uid, written.metadata.resourceVersion !== known);
  // Fields that the object did not have when it was read may be another writer's.
  const own = Object.entries(written.status ?? {}).filter(([field]) => field in stored);
  const removal = removalOf(Object.fromEntries(own), wanted);
  if (removal === undefined) return written;
  const metadata = { resourceVersion: written.metadata.resourceVersion };
  const patch = { metadata, status: removal };
  return kube.mergePatch<T>(type, keyOf(object), patch, { subresource: "status", signal });
}

/** The status as it is sent: without undefined values. */
function asJson(status: object): object {
  return JSON.parse(JSON.stringify(status));
}

function without(fields: readonly string[], status: object): object {
  if (fields.length === 0) return status;
  return Object.fromEntries(Object.entries(status).filter(([field]) => !fields.includes(field)));
}
