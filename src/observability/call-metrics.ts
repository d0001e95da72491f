import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** Metrics of calls to the console. */
export function consoleMetrics(registry: Registry) {
  return {
    iamRequests: new Counter({
      name: "iam_operator_iam_requests_total",
      help: "Calls to the console; the code is the status of the answer, `WebPage` for a web page with a status of success, or the code of the error without an answer.",
      labelNames: ["operation", "code"],
      registers: [registry],
    }),
    iamRequestDuration: new Histogram({
      name: "iam_operator_iam_request_duration_seconds",
      help: "How long calls to the console took.",
      labelNames: ["operation"],
      buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      registers: [registry],
    }),
    logins: new Counter({
      name: "iam_operator_logins_total",
      help: "Logins to the console.",
      labelNames: ["result"],
      registers: [registry],
    }),
  };
}

/** Metrics of calls to the API server, and of the lease, the watches, the caches and the events. */
export function kubeMetrics(registry: Registry) {
  const registers = [registry];
  return {
    restClientRequests: new Counter({
      name: "rest_client_requests_total",
      help: "Calls to the Kubernetes API, by status and method; the code is <error> without an answer.",
      labelNames: ["code", "method"],
      registers,
    }),
    leaderStatus: new Gauge({
      name: "leader_election_master_status",
      help: "Whether this process leads (1) or not (0).",
      labelNames: ["name"],
      registers,
    }),
    watchRestarts: new Counter({
      name: "iam_operator_watch_restarts_total",
      help: "Watches that ended and were started again.",
      labelNames: ["kind", "reason"],
      registers,
    }),
    storeSynced: new Gauge({
      name: "iam_operator_store_synced",
      help: "Whether the first complete listing of a kind has arrived (1) or not (0).",
      labelNames: ["kind"],
      registers,
    }),
    eventsDropped: new Counter({
      name: "iam_operator_events_dropped_total",
      help: "Events that were not written: too many, or the API server refused them.",
      registers,
    }),
  };
}
