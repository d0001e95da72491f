import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import type { Metrics } from "../../observability/metrics.ts";

export const noEvents: EventRecorder = { record: () => undefined };

const ignored: unknown = new Proxy(() => ignored, { get: () => ignored });
/** Accepts every call and records nothing. */
export const noMetrics = ignored as Metrics;
