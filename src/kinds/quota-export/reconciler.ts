/**
 * Reads the ResourceQuota listing of one cluster at every interval, completely or not at all, and reports it in the
 * status and in metrics. A scrape never calls the console.
 */
import { parseSpec } from "../../api/parse-spec.ts";
import { resourceQuotaExportKind } from "../../api/resource-quota-export.ts";
import type { ObjectKey } from "../../kube/resource.ts";
import type { Context } from "../../reconciler/context.ts";
import type { KindDefinition } from "../../reconciler/kind-definition.ts";
import { createReconciler, type KindReconciler } from "../../reconciler/reconciler.ts";
import { resourceQuotaExportType } from "../../resources/resource-types.ts";
import { defineListQuotas, type ReadPair } from "./effects/list-quotas.ts";
import { observe } from "./observe.ts";
import { PublishedQuotas, type SeriesLimits } from "./published-quotas.ts";
import { report } from "./rules/report.ts";
import type { QuotaExportKind } from "./rules/snapshot.ts";
import { reconcileQuotaExport } from "./run.ts";

export function createQuotaExportReconciler(
  context: Context,
  readPair: ReadPair,
  limits: SeriesLimits,
): KindReconciler<QuotaExportKind> {
  const exports = context.caches.of(resourceQuotaExportType);
  const isSuspended = (key: ObjectKey) => exports.get(key)?.spec?.suspend === true;
  const published = new PublishedQuotas(context.metrics, context.clock, limits, isSuspended);
  const listQuotas = defineListQuotas(readPair, published);
  const kind: KindDefinition<QuotaExportKind> = {
    type: resourceQuotaExportType,
    parse: (object) => parseSpec(resourceQuotaExportKind, object),
    observe,
    run: (snapshot, readNow) => reconcileQuotaExport(snapshot, readNow, listQuotas),
    report,
    isReader: true,
    forget: (key) => published.drop(key),
  };
  return createReconciler(kind, context);
}
