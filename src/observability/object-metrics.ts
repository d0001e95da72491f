import { Counter, type Registry } from "prom-client";
import { CollectedGauge } from "./collected-gauge.ts";

/** Gauges of objects have no series until their source is set. */
export function objectMetrics(registry: Registry) {
  return {
    objectReady: new CollectedGauge(
      "iam_operator_object_ready",
      "Whether an object is ready (1) or not (0).",
      ["kind", "namespace", "name"],
      registry,
    ),
    partialObjects: new CollectedGauge(
      "iam_operator_partial_objects",
      "Objects too large for the operator's memory, read from the API server at each reconcile.",
      ["kind"],
      registry,
    ),
    driftCorrections: new Counter({
      name: "iam_operator_drift_corrections_total",
      help: "Corrected policy bindings in the console.",
      registers: [registry],
    }),
    reappearedPolicies: new Counter({
      name: "iam_operator_reappeared_policies_total",
      help: "Withdrawn policies bound late by a syncBindings call without a usable response, and removed again.",
      registers: [registry],
    }),
  };
}

/** Every gauge describes one ServiceAccount. */
export function serviceAccountMetrics(registry: Registry) {
  return {
    unmanagedKeys: new CollectedGauge(
      "iam_operator_unmanaged_keys",
      "Valid keys in the console that no ApiKey names, by whether spec.unmanagedKeys expects them.",
      ["namespace", "name", "expected"],
      registry,
    ),
    orphanedAccounts: gaugePerKey(registry)(
      "iam_operator_orphaned_accounts",
      "Additional accounts in the console created for a ServiceAccount.",
    ),
  };
}

/** Every gauge describes one ApiKey. */
export function apiKeyMetrics(registry: Registry) {
  const perKey = gaugePerKey(registry);
  return {
    apiKeyExpiration: perKey(
      "iam_operator_apikey_expiration_timestamp_seconds",
      "When the current key expires, in seconds since the epoch.",
    ),
    apiKeyRenewal: perKey(
      "iam_operator_apikey_renewal_timestamp_seconds",
      "When the current key is due for rotation, in seconds since the epoch.",
    ),
    apiKeyReady: perKey(
      "iam_operator_apikey_ready",
      "Whether the Secret holds a verified key (1) or not (0).",
    ),
    apiKeyIssuanceAllowed: perKey(
      "iam_operator_apikey_issuance_allowed",
      "Whether the next key can be issued, as far as is known (1), or not (0). Absent while the ApiKey is suspended or plan-only.",
    ),
    orphanedKeys: perKey(
      "iam_operator_orphaned_keys",
      "Issued keys whose secret was lost, valid until they expire.",
    ),
    supersededLiveKeys: perKey(
      "iam_operator_superseded_live_keys",
      "Superseded keys in the state Live.",
    ),
    apiKeyIssues: new Counter({
      name: "iam_operator_apikey_issues_total",
      help: "Attempts to issue a key, by result.",
      labelNames: ["result"],
      registers: [registry],
    }),
  };
}

/** Gauges of the Pods that use an ApiKey's Secret, if the operator counts Pods. */
export function consumerMetrics(registry: Registry) {
  const perKey = gaugePerKey(registry);
  return {
    consumers: perKey(
      "iam_operator_consumers",
      "Pods that use the Secret, if the operator counts them.",
    ),
    staleConsumers: perKey(
      "iam_operator_stale_consumers",
      "Pods that still use an older version of the Secret, if the operator counts them.",
    ),
    workloadRestarts: new Counter({
      name: "iam_operator_workload_restarts_total",
      help: "Restarts of workloads for a changed Secret, by result.",
      labelNames: ["result"],
      registers: [registry],
    }),
  };
}

function gaugePerKey(registry: Registry) {
  return (name: string, help: string) =>
    new CollectedGauge(name, help, ["namespace", "name"], registry);
}
