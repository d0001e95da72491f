import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** Uses controller-runtime's names, so that its dashboards work. */
export function controllerMetrics(registry: Registry) {
  const registers = [registry];
  return {
    reconciles: new Counter({
      name: "controller_runtime_reconcile_total",
      help: "Reconciles by their result.",
      labelNames: ["controller", "result"],
      registers,
    }),
    reconcileErrors: new Counter({
      name: "controller_runtime_reconcile_errors_total",
      help: "Reconciles that failed.",
      labelNames: ["controller"],
      registers,
    }),
    terminalErrors: new Counter({
      name: "controller_runtime_terminal_reconcile_errors_total",
      help: "Reconciles that failed in a way that only a change of the object can resolve.",
      labelNames: ["controller"],
      registers,
    }),
    reconcileTime: new Histogram({
      name: "controller_runtime_reconcile_time_seconds",
      help: "How long reconciles took.",
      labelNames: ["controller"],
      buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120],
      registers,
    }),
    maxConcurrentReconciles: new Gauge({
      name: "controller_runtime_max_concurrent_reconciles",
      help: "Maximum concurrent reconciles.",
      labelNames: ["controller"],
      registers,
    }),
    activeWorkers: new Gauge({
      name: "controller_runtime_active_workers",
      help: "How many reconciles run now.",
      labelNames: ["controller"],
      registers,
    }),
    staleSyncSkips: new Counter({
      name: "iam_operator_stale_sync_skips_total",
      help: "Reconciles delayed because the cache had not observed the operator's last write.",
      labelNames: ["kind"],
      registers,
    }),
    longTurns: new Counter({
      name: "iam_operator_long_turns_seconds_total",
      help: "By how much work that took more than 50 ms without a pause delayed all other work. The labels name the kind and namespace of the reconcile that did the work; both are empty for other work, such as garbage collection. After 100 namespaces, further namespaces are not named.",
      labelNames: ["controller", "namespace"],
      registers,
    }),
    omittedState: new Counter({
      name: "iam_operator_omitted_state_total",
      help: "How often the operator did not remember something about an object, because the memory of its namespace was used up. It then makes more calls for the object. After 100 namespaces, further namespaces are not named.",
      labelNames: ["namespace"],
      registers,
    }),
  };
}

/** Uses the names of Kubernetes' own queues. */
export function queueMetrics(registry: Registry) {
  const registers = [registry];
  const labelNames = ["name"];
  const gauge = (name: string, help: string) => new Gauge({ name, help, labelNames, registers });
  const counter = (name: string, help: string) =>
    new Counter({ name, help, labelNames, registers });
  const histogram = (name: string, help: string) =>
    new Histogram({
      name,
      help,
      labelNames,
      buckets: [0.001, 0.01, 0.1, 1, 10, 60, 300],
      registers,
    });
  return {
    queueDepth: gauge("workqueue_depth", "Due keys that wait for a worker."),
    queueAdds: counter("workqueue_adds_total", "Keys that became due."),
    queueRetries: counter("workqueue_retries_total", "Keys added again after a failed reconcile."),
    queueDuration: histogram(
      "workqueue_queue_duration_seconds",
      "How long keys waited for a worker once they were due.",
    ),
    queueWorkDuration: histogram(
      "workqueue_work_duration_seconds",
      "How long a worker was busy with a key.",
    ),
    queueUnfinishedWork: gauge(
      "workqueue_unfinished_work_seconds",
      "Sum of the time the running reconciles have taken so far.",
    ),
    queueLongestRunning: gauge(
      "workqueue_longest_running_processor_seconds",
      "How long the longest running reconcile has taken so far.",
    ),
    queueOldestAge: gauge(
      "iam_operator_workqueue_oldest_age_seconds",
      "How long the first key in the queue has been due.",
    ),
  };
}
