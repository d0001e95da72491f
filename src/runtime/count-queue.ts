import type { Metrics } from "../observability/metrics.ts";
import { SECOND } from "../util/time.ts";
import type { QueueHooks } from "./work-queue.ts";

/** Counts what a queue does. */
export function countQueue(name: string, metrics: Metrics): QueueHooks {
  return {
    onDue: () => metrics.queueAdds.inc({ name }),
    onStart: (waitedMs) => metrics.queueDuration.observe({ name }, waitedMs / SECOND),
    onDone: (workedMs) => metrics.queueWorkDuration.observe({ name }, workedMs / SECOND),
  };
}
