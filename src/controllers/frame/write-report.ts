/** Writes the statuses and events of a report. Gauges of objects are collected from their statuses. */
import { API_VERSION } from "../../api/meta.ts";
import type { EventNote } from "../../kube/events/event-recorder.ts";
import type { Context } from "./context.ts";
import { conditionEvents } from "./rules/condition-events.ts";
import { type ObjectReport, type Report, type ReportedObject, statusOf } from "./rules/report.ts";
import { type StatusWriteContext, writeStatus } from "./status-writer.ts";

type ReportContext = Context & StatusWriteContext & { readonly signal: AbortSignal };

/** Writes in the order of the report. Rejects at the first status that cannot be written. */
export async function writeReport(
  { objects, events = [] }: Report,
  context: ReportContext,
): Promise<void> {
  for (const each of objects) {
    const written = await writeObjectStatus(each, context);
    const warnings = (each.conditions ?? [])
      .filter((condition) => condition.status !== undefined && condition.isWarning)
      .map(({ type }) => type);
    const before = each.object.status?.conditions;
    for (const event of conditionEvents(before, written.status?.conditions, warnings))
      recordEvent(context, each.object, event);
  }
  for (const { object, event } of events) recordEvent(context, object, event);
}

/** Writes one status without events, for example an intent before its call. Returns the written object. */
export async function writeObjectStatus<T extends ReportedObject>(
  report: ObjectReport<T>,
  context: ReportContext,
): Promise<T> {
  const { type, object, write } = report;
  const status = statusOf(report as unknown as ObjectReport, context.clock.now());
  const { signal } = context;
  return writeStatus<T>(context, type, object, status as NonNullable<T["status"]>, {
    ...write,
    signal,
  });
}

export function recordEvent(
  { events }: Pick<Context, "events">,
  { kind, metadata }: Pick<ReportedObject, "kind" | "metadata">,
  event: EventNote,
): void {
  events.record({ apiVersion: API_VERSION, kind, metadata }, event);
}
