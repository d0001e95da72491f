/** Writes events to the API server (events.k8s.io/v1). */
import type { Log, LogFields } from "../../util/log.ts";
import type { Random } from "../../util/random.ts";
import { type Clock, toMicroTime } from "../../util/time.ts";
import { toError } from "../../util/to-error.ts";
import type { KubeClient } from "../client/client.ts";
import { isNamespaceGone } from "../client/status.ts";
import { isKubeError } from "../errors.ts";
import { type ClusterEvent, eventType } from "../resource-types.ts";
import { EventQueue, namespaceOf } from "./event-queue.ts";
import type { EventNote, EventRecorder, EventTarget } from "./event-recorder.ts";
import { EventCorrelator, type EventLimits, type EventSeries } from "./event-series.ts";

const REPORTING_CONTROLLER = "iam-operator.io/iam-operator";

const MAX_NOTE_BYTES = 1_024;
const MAX_WORD_BYTES = 128;
/** Maximum number of series that wait to be written. */
const MAX_QUEUED = 1_000;

interface EventWriterOptions {
  readonly client: KubeClient;
  /** Name of the Pod or of the host. */
  readonly instance: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly limits?: EventLimits;
  /** An object of the operator. Warnings about objects whose namespace is gone are written about this object. */
  readonly standIn?: EventTarget | undefined;
  /** An event was not written. */
  readonly onDropped?: () => void;
}

export interface EventWriter extends EventRecorder {
  /**
   * Resolves when every recorded event was tried, or after `timeoutMs`. From the second half of that time on,
   * events ignore `Retry-After`.
   */
  flush(timeoutMs: number): Promise<void>;
}

/**
 * A recorder that writes in the background, one event after the other, and never retries an event. If the API server
 * answers with a `Retry-After`, the next event waits for it.
 */
export function createEventWriter(options: EventWriterOptions): EventWriter {
  const { clock, log, onDropped = () => undefined } = options;
  const correlator = new EventCorrelator(clock, options.limits);
  const queue = new EventQueue(MAX_QUEUED);
  const stopped = new AbortController();
  let writing: Promise<void> | undefined;

  const waitUntil = async (time: number) => {
    const { signal } = stopped;
    if (time > clock.now()) await clock.sleep(time - clock.now(), signal).catch(() => undefined);
  };
  /** The log names what the event names, because a Warning may be the only trace of what it is about. */
  const drop = (series: EventSeries, error?: unknown) => {
    onDropped();
    const err = error === undefined ? undefined : toError(error);
    if (series.event.type === "Warning")
      log.warn({ ...logged(series), err }, "could not write an event");
    else log.debug({ ...logged(series), err }, "could not write an event");
  };
  const drain = async () => {
    for (let series = queue.next(); series !== undefined; series = queue.next()) {
      const tried = series;
      await writeSomewhere(options, series).catch((error: unknown) => {
        drop(tried, error);
        return waitUntil(isKubeError(error) ? (error.retryAt ?? 0) : 0);
      });
    }
    writing = undefined;
  };

  return {
    record(target, event) {
      const series = correlator.add(target, event);
      if (series === undefined) {
        onDropped();
        return;
      }
      const dropped = queue.add(series);
      if (dropped !== undefined) drop(dropped);
      // In a microtask, so that the caller's reconcile continues first.
      writing ??= Promise.resolve().then(drain);
    },
    async flush(timeoutMs) {
      if (writing === undefined) return;
      const limit = new AbortController();
      const elapsed = (ms: number) => clock.sleep(ms, limit.signal).catch(() => undefined);
      const unpaused = elapsed(timeoutMs / 2).then(() => stopped.abort());
      await Promise.race([writing, elapsed(timeoutMs)]);
      limit.abort();
      await unpaused;
      for (let left = queue.next(); left !== undefined; left = queue.next()) drop(left);
    },
  };
}

/** An event in a namespace that is gone cannot be read, even if what it is about stays in the console. */
async function writeSomewhere(options: EventWriterOptions, series: EventSeries): Promise<void> {
  try {
    await write(options, series);
  } catch (error) {
    const { standIn, log } = options;
    const { target, event, count } = series;
    const isNews = event.type === "Warning" && event.isCondition !== true;
    if (standIn === undefined || !isNews || !isNamespaceGone(error)) throw error;
    log.warn({ ...logged(series) }, "the namespace of an event is gone");
    const named = { ...event, note: `${nameOf(target)}: ${event.note}` };
    const beside = toEvent(options, { target: standIn, event: named, count, name: undefined });
    await options.client.create(eventType, { ...beside, related: referenceOf(target) });
  }
}

function nameOf(target: EventTarget): string {
  return `${target.kind} ${namespaceOf(target)}/${target.metadata.name}`;
}

/** The fields of a log line about the event. */
function logged({ target: { kind, metadata }, event: { reason, note } }: EventSeries): LogFields {
  const { namespace, name } = metadata;
  return { kind, namespace, name, reason, note };
}

async function write(options: EventWriterOptions, series: EventSeries): Promise<void> {
  if (series.name !== undefined && (await addToSeries(options, series, series.name))) return;
  const event = toEvent(options, series);
  series.name = undefined;
  await options.client.create(eventType, event);
  series.name = event.metadata.name;
}

/** False if the Event object no longer exists: by default, Events expire after an hour. */
async function addToSeries(
  { client, clock }: EventWriterOptions,
  { target, count }: EventSeries,
  name: string,
): Promise<boolean> {
  const key = { namespace: namespaceOf(target), name };
  const series = { count, lastObservedTime: toMicroTime(clock.now()) };
  try {
    await client.mergePatch(eventType, key, { series });
    return true;
  } catch (error) {
    if (isKubeError(error, "NotFound")) return false;
    throw error;
  }
}

function toEvent(options: EventWriterOptions, { target, event, count }: EventSeries): ClusterEvent {
  const { clock, random, instance } = options;
  const now = toMicroTime(clock.now());
  return {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { namespace: namespaceOf(target), name: eventName(target, random.id()) },
    eventTime: now,
    reportingController: REPORTING_CONTROLLER,
    reportingInstance: bounded(instance, MAX_WORD_BYTES),
    ...words(event),
    regarding: referenceOf(target),
    // The event happened again before it was first written.
    ...(count > 1 ? { series: { count, lastObservedTime: now } } : {}),
  };
}

function referenceOf({ apiVersion, kind, metadata }: EventTarget) {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { apiVersion, kind, namespace, name, uid, resourceVersion };
}

function words({ type, reason, action, note }: EventNote) {
  return {
    type,
    reason: bounded(reason, MAX_WORD_BYTES),
    action: bounded(action, MAX_WORD_BYTES),
    note: bounded(note, MAX_NOTE_BYTES),
  };
}

/** A valid name that starts with the object's name, as people expect. */
function eventName({ metadata }: EventTarget, suffix: string): string {
  const start = metadata.name.slice(0, 200).replace(/[^a-z0-9]+$/, "");
  return `${start}.${suffix}`;
}

/** Cuts the text between characters to at most `maxBytes` bytes in UTF-8. */
function bounded(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  const ellipsis = "…";
  const kept = bytes.subarray(0, maxBytes - Buffer.byteLength(ellipsis)).toString();
  return `${kept.replace(/\uFFFD+$/, "")}${ellipsis}`;
}
