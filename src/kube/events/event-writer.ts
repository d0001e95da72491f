/** Writes events to the API server (events.k8s.io/v1). */
import type { Log } from "../../util/log.ts";
import type { Random } from "../../util/random.ts";
import { type Clock, toMicroTime } from "../../util/time.ts";
import { toError } from "../../util/to-error.ts";
import type { KubeClient } from "../client/client.ts";
import { isKubeError } from "../errors.ts";
import { type ClusterEvent, eventType } from "../resource-types.ts";
import type { EventNote, EventRecorder, EventTarget } from "./event-recorder.ts";
import { EventCorrelator, type EventLimits, type EventSeries } from "./event-series.ts";

const REPORTING_CONTROLLER = "iam-operator.io/iam-operator";

/** The namespace for events of cluster-scoped objects. */
const CLUSTER_SCOPED_NAMESPACE = "default";

const MAX_NOTE_BYTES = 1_024;
const MAX_WORD_BYTES = 128;
/** Maximum number of series that wait to be written. Each series waits once, however often its event happens. */
const MAX_QUEUED = 1_000;

interface EventWriterOptions {
  readonly client: KubeClient;
  /** Name of the Pod or of the host. */
  readonly instance: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly limits?: EventLimits;
  /** An event was not written. */
  readonly onDropped?: () => void;
}

export interface EventWriter extends EventRecorder {
  /** Resolves when every recorded event was tried, or after `timeoutMs`; the remaining events ignore `Retry-After`. */
  flush(timeoutMs: number): Promise<void>;
}

/**
 * A recorder that writes in the background, one event after the other, and never retries an event. If the API server
 * answers with a `Retry-After`, the next event waits for it.
 */
export function createEventWriter(options: EventWriterOptions): EventWriter {
  const { clock, log, onDropped = () => undefined } = options;
  const correlator = new EventCorrelator(clock, options.limits);
  const queue = new Set<EventSeries>();
  const stopped = new AbortController();
  let writing: Promise<void> | undefined;

  const waitUntil = async (time: number) => {
    const { signal } = stopped;
    if (time > clock.now()) await clock.sleep(time - clock.now(), signal).catch(() => undefined);
  };
  const drain = async () => {
    for (const series of queue) {
      queue.delete(series);
      await write(options, series).catch((error: unknown) => {
        onDropped();
        log.debug({ err: toError(error) }, "could not write an event");
        return waitUntil(isKubeError(error) ? (error.retryAt ?? 0) : 0);
      });
    }
    writing = undefined;
  };

  return {
    record(target, event) {
      const series = correlator.add(target, event);
      if (series === undefined || (queue.size >= MAX_QUEUED && !queue.has(series))) {
        onDropped();
        return;
      }
      queue.add(series);
      // In a microtask, so that the caller's reconcile continues first.
      writing ??= Promise.resolve().then(drain);
    },
    async flush(timeoutMs) {
      if (writing === undefined) return;
      const limit = new AbortController();
      const timeout = clock.sleep(timeoutMs, limit.signal).catch(() => undefined);
      await Promise.race([writing, timeout]);
      limit.abort();
      stopped.abort();
    },
  };
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
    regarding: {
      apiVersion: target.apiVersion,
      kind: target.kind,
      namespace: target.metadata.namespace,
      name: target.metadata.name,
      uid: target.metadata.uid,
      resourceVersion: target.metadata.resourceVersion,
    },
    // The event happened again before it was first written.
    ...(count > 1 ? { series: { count, lastObservedTime: now } } : {}),
  };
}

function words({ type, reason, action, note }: EventNote) {
  return {
    type,
    reason: bounded(reason, MAX_WORD_BYTES),
    action: bounded(action, MAX_WORD_BYTES),
    note: bounded(note, MAX_NOTE_BYTES),
  };
}

function namespaceOf({ metadata }: EventTarget): string {
  return metadata.namespace ?? CLUSTER_SCOPED_NAMESPACE;
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
