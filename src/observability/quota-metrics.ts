import type { Registry } from "prom-client";
import { SeriesGauge } from "./series-gauge.ts";

const exportLabels = ["export_namespace", "export"] as const;
const quotaLabels = [...exportLabels, "cluster_id", "namespace", "name"] as const;

/** Metrics of the resource quotas that the console lists. */
export function quotaMetrics(registry: Registry) {
  const gauge = <Label extends string>(name: string, help: string, labels: readonly Label[]) =>
    new SeriesGauge(name, help, labels, registry);
  return {
    quotaInfo: gauge(
      "iam_operator_resourcequota_info",
      "A resource quota of the console as it is shown there; always 1.",
      [...quotaLabels, "status", "request", "limit"],
    ),
    quotaCreated: gauge(
      "iam_operator_resourcequota_created_timestamp_seconds",
      "When a resource quota was created, in seconds since the epoch.",
      quotaLabels,
    ),
    quota: gauge("iam_operator_resourcequota", "An amount of a resource quota: used or hard.", [
      ...quotaLabels,
      "resource",
      "type",
    ]),
    quotaParseOk: gauge(
      "iam_operator_resourcequota_parse_ok",
      "Whether the amounts of a resource quota could be read from its text (1) or not (0).",
      quotaLabels,
    ),
    quotaExportTotal: gauge(
      "iam_operator_resourcequota_export_total",
      "Resource quotas in the last complete listing.",
      exportLabels,
    ),
    quotaExportOmitted: gauge(
      "iam_operator_resourcequota_export_omitted",
      "Resource quotas of the last complete listing without series, because their number is limited.",
      exportLabels,
    ),
    quotaExportLastSuccess: gauge(
      "iam_operator_resourcequota_export_last_success_timestamp_seconds",
      "When the last complete listing was taken, in seconds since the epoch.",
      exportLabels,
    ),
    quotaExportDuration: gauge(
      "iam_operator_resourcequota_export_duration_seconds",
      "How long the last complete listing took.",
      exportLabels,
    ),
  };
}
