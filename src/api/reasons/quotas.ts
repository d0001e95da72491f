/** Reasons of ResourceQuotaExports. */
import type { Reason } from "./reason.ts";

export const ofQuotas = {
  WaitingForApiKey: {
    meaning: "The ApiKey in `spec.apiKeyRef` does not exist or does not have a key yet.",
    fix: "Create the ApiKey in `spec.apiKeyRef`, or check its Ready condition: `kubectl iam status iamkey/NAME`.",
  },
  KeyRejected: {
    meaning: "The console does not accept the key.",
    fix: "Check the conditions of the ApiKey; it replaces a rejected key by itself.",
  },
  TooManySeries: {
    meaning:
      "The listing is complete, but the number of metric series is limited for one export and for all together. The message and the metric `iam_operator_resourcequota_export_omitted` count the quotas without metrics.",
    fix: "Filter by `spec.namespaces` or `spec.filterNames`, or raise `quotaExports.maxSeriesPerExport` or `quotaExports.maxSeries` of the chart together with the operator's memory.",
  },
  ConnectionMismatch: {
    meaning: "`spec.connectionRef` does not name the connection of the key's account.",
    fix: "Use the connection of the ApiKey's ServiceAccount, or leave out `spec.connectionRef` or `spec.apiKeyRef`.",
  },
  QuotaExportNotGranted: {
    meaning:
      "The export does not set `spec.apiKeyRef`, and no grant of the ClusterConnection lets the namespace list this cluster's quotas with the connection's own login.",
    fix: "Name an ApiKey in `spec.apiKeyRef`, or ask for the cluster in `quotaExports` of the namespace's grant.",
  },
} as const satisfies Record<string, Reason>;
