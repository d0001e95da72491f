/**
 * Reads the ResourceQuota listing of one cluster at every interval, completely or not at all, and reports it in the
 * status and in metrics. A scrape never calls the console.
 */
import { parseSpec } from "../../api/parse-spec.ts";
import { resourceQuotaExportKind } from "../../api/resource-quota-export.ts";
import { keyOf } from "../../kube/resource.ts";
import type { Context } from "../../reconciler/context.ts";
import type { KindDefinition } from "../../reconciler/kind-definition.ts";
import { createReconciler, type KindReconciler } from "../../reconciler/reconciler.ts";
import { resourceQuotaExportType } from "../../resources/resource-types.ts";
import { observe } from "./observe.ts";
import { next } from "./rules/next.ts";
import { report } from "./rules/report.ts";
import type { QuotaExportKind } from "./rules/snapshot.ts";
import { listQuotas, type ReadPair } from "./steps/list-quotas.ts";
import { PublishedQuotas, type SeriesLimits } from "./steps/published-quotas.ts";

export function createQuotaExportReconciler(
  context: Context,
  readPair: ReadPair,
  limits: SeriesLimits,
): KindReconciler<QuotaExportKind> {
  const published = new PublishedQuotas(context.metrics, context.clock, limits);
  const kind: KindDefinition<QuotaExportKind> = {
    type: resourceQuotaExportType,
    parse: (object) => parseSpec(resourceQuotaExportKind, object),
    start: {},
    observe,
    next,
    steps: {
      ListQuotas: {
        read: async (_, progress, run) => {
          const after = await listQuotas(readPair, progress, run);
          const { object, spec, intervalMs } = after.snapshot;
          const { quotas, durationMs = 0 } = after.done;
          if (quotas === undefined) return after;
          const { clusterId } = spec;
          const listing = { clusterId, quotas, intervalMs, durationMs };
          const omitted = await published.publish(keyOf(object), listing);
          return { ...after, done: { ...after.done, omitted } };
        },
      },
    },
    report,
    forget: (key) => published.drop(key),
  };
  return createReconciler(kind, context);
}
