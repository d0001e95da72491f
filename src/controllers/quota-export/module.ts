import { connectionOf } from "../connection-key.ts";
import { defineKind } from "../frame/kind-module.ts";
import { indexes } from "../indexes.ts";
import { apiKeyKey, indexedAs } from "../refs.ts";
import { resourceQuotaExportType } from "../resource-types.ts";

export const resourceQuotaExports = defineKind({
  type: resourceQuotaExportType,
  cache: {
    indexes: {
      [indexes.connection]: connectionOf,
      [indexes.apiKey]: (quotaExport) => indexedAs(apiKeyKey(quotaExport)),
    },
  },
});
