import { isRevocationDue } from "../../accounts/revocation-due.ts";
import { shardKeyObject } from "../../accounts/shard-key-object.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import { connectionOf } from "../../connections/connection-key.ts";
import { keyOf } from "../../kube/resource.ts";
import { defineModule } from "../../reconciler/kind-module.ts";
import type { AccessParts } from "../../resources/access-watches.ts";
import { indexes } from "../../resources/indexes.ts";
import { connectionResource } from "../../resources/queue-resources.ts";
import { serviceAccountType } from "../../resources/resource-types.ts";
import { saIdIndex } from "./claims.ts";
import { serviceAccountGauges } from "./gauges.ts";
import { createServiceAccountReconciler } from "./reconciler.ts";
import { serviceAccountWatches } from "./watches.ts";

export const serviceAccounts = defineModule<ServiceAccount, AccessParts>({
  type: serviceAccountType,
  cache: { indexes: { [indexes.connection]: connectionOf, [indexes.saId]: saIdIndex } },
  watches: serviceAccountWatches,
  queue: (caches) => ({
    resourceOf: connectionResource,
    isUrgent: (account) => isRevocationDue(caches, account),
  }),
  // PolicyBindings may name an account that does not exist.
  shardKeyObject: (account, caches) => shardKeyObject(caches, keyOf(account)) ?? account,
  gauges: serviceAccountGauges,
  reconciler: (context, _, enqueue) => createServiceAccountReconciler(context, enqueue),
});
