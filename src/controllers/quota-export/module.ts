import type { ResourceQuotaExport } from "../../api/resource-quota-export.ts";
import type { AccessParts } from "../access-watches.ts";
import { connectionOf } from "../connection-key.ts";
import { defineModule } from "../frame/kind-module.ts";
import { indexes } from "../indexes.ts";
import { connectionResource } from "../queue-resources.ts";
import { apiKeyKey, indexedAs } from "../refs.ts";
import { resourceQuotaExportType } from "../resource-types.ts";
import { createQuotaExportController } from "./controller.ts";
import type { ReadPair } from "./steps/list-quotas.ts";
import type { SeriesLimits } from "./steps/published-quotas.ts";
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
    createQuotaExportController(context, readPair, seriesLimits),
});
