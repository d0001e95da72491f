/** Which changes of other objects enqueue ResourceQuotaExports. */
import { isDeepStrictEqual } from "node:util";
import type { ApiKey } from "../../api/api-key.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import { keyOf, keyText, type ObjectKey } from "../../kube/resource.ts";
import type { Caches } from "../../reconciler/context.ts";
import { type AccessParts, accessWatches } from "../../resources/access-watches.ts";
import { indexes } from "../../resources/indexes.ts";
import {
  apiKeyType,
  resourceQuotaExportType,
  serviceAccountType,
} from "../../resources/resource-types.ts";
import { type Watch, watch } from "../../runtime/watch.ts";

export function quotaExportWatches(caches: Caches, parts: AccessParts): readonly Watch[] {
  const apiKeys = caches.of(apiKeyType);
  const exportsWith = (apiKey: ObjectKey) =>
    caches.of(resourceQuotaExportType).byIndex(indexes.apiKey, keyText(apiKey)).map(keyOf);
  return [
    ...accessWatches(resourceQuotaExportType, caches, parts),
    watch(apiKeys, ({ key, old, new: now }) =>
      isDeepStrictEqual(usedOf(old), usedOf(now)) ? [] : exportsWith(key),
    ),
    // The policies bound to its account decide what a key has permission to list.
    watch(caches.of(serviceAccountType), ({ key, old, new: now }) =>
      isDeepStrictEqual(rights(old), rights(now))
        ? []
        : apiKeys
            .byIndex(indexes.serviceAccount, keyText(key))
            .flatMap((apiKey) => exportsWith(keyOf(apiKey))),
    ),
  ];
}

/** What an export takes from an ApiKey. */
function usedOf(apiKey: ApiKey | undefined): unknown {
  return [apiKey?.metadata.generation, apiKey?.status?.current?.keyId];
}

function rights(account: ServiceAccount | undefined): unknown {
  const { state, bindings } = account?.status ?? {};
  return [state, bindings?.policies];
}
