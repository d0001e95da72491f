import { accountIndex } from "../../accounts/key-accounts.ts";
import type { ApiKey } from "../../api/api-key.ts";
import type { ConsumersView } from "../../consumers/board.ts";
import { defineModule } from "../../reconciler/kind-module.ts";
import type { AccessParts } from "../../resources/access-watches.ts";
import { indexes } from "../../resources/indexes.ts";
import { accountOf, connectionResource } from "../../resources/queue-resources.ts";
import { apiKeyType } from "../../resources/resource-types.ts";
import type { DeletedIssues } from "./deleted-issues.ts";
import { apiKeyGauges } from "./gauges.ts";
import { createApiKeyReconciler } from "./reconciler.ts";
import { secretNameIndex } from "./secret-claims.ts";
import type { Timing } from "./timing.ts";
import { apiKeyWatches } from "./watches.ts";

export interface ApiKeyParts extends AccessParts {
  readonly timing: Partial<Timing>;
  readonly deletedIssues?: DeletedIssues;
  readonly consumers: ConsumersView;
}

export const apiKeys = defineModule<ApiKey, ApiKeyParts>({
  type: apiKeyType,
  cache: {
    indexes: {
      [indexes.serviceAccount]: accountIndex,
      [indexes.secretName]: secretNameIndex,
    },
  },
  watches: apiKeyWatches,
  queue: (caches) => ({
    isMain: true,
    resourceOf: (apiKey) => {
      const account = accountOf(caches, apiKey);
      return account && connectionResource(account);
    },
  }),
  // The operator that manages an account also manages the account's ApiKeys.
  shardKeyObject: (apiKey, caches) => accountOf(caches, apiKey) ?? apiKey,
  gauges: apiKeyGauges,
  reconciler: (context, { timing, deletedIssues, consumers }) => {
    const controller = createApiKeyReconciler(context, {
      timing,
      ...(deletedIssues === undefined ? {} : { deletedIssues }),
      consumers,
    });
    return {
      reconcile: controller.reconcile,
      onGone: controller.onGone,
      unsaved: {
        get count() {
          return controller.unsavedPairs;
        },
        save: (signal) => controller.saveHeldPairs(signal),
      },
    };
  },
});
