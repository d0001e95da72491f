import type { ResourceQuotaExport } from "../../api/resource-quota-export.ts";
import { connectionOf } from "../../connections/connection-key.ts";
import { defineModule } from "../../reconciler/kind-module.ts";
import type { AccessParts } from "../../resources/access-watches.ts";
import { indexes } from "../../resources/indexes.ts";
import { connectionResource } from "../../resources/queue-resources.ts";
import { apiKeyKey, indexedAs } from "../../resources/refs.ts";
import { resourceQuotaExportType } from "../../resources/resource-types.ts";
import type { ReadPair } from "./effects/list-quotas.ts";
import type { SeriesLimits } from "./published-quotas.ts";
import { createQuotaExportReconciler } from "./reconciler.ts";
import { quotaExportWatches } from "./watches.ts";

export interface QuotaExportParts extends AccessParts {
  readonly readPair: ReadPair;
  readonly seriesLimits: SeriesLimits;
}

export const resourceQuotaExports = defineModule<ResourceQuotaExport, QuotaExportParts>({
  type: resourceQuotaExportType,
  cache: {
    indexes: {
      [indexes.connection]: connectionOf,
      [indexes.apiKey]: (quotaExport) => indexedAs(apiKeyKey(quotaExport)),
    },
  },
  watches: quotaExportWatches,
  queue: () => ({ resourceOf: connectionResource }),
  reconciler: (context, { readPair, seriesLimits }) =>
    createQuotaExportReconciler(context, readPair, seriesLimits),
});
