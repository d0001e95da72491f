import type { ServiceAccount } from "../../api/service-account.ts";
import { keyOf } from "../../kube/resource.ts";
import type { AccessParts } from "../access-watches.ts";
import { connectionOf } from "../connection-key.ts";
import { defineModule } from "../frame/kind-module.ts";
import { indexes } from "../indexes.ts";
import { connectionResource } from "../queue-resources.ts";
import { serviceAccountType } from "../resource-types.ts";
import { isRevocationDue } from "../revocation-due.ts";
import { decidingObject } from "../selected-by.ts";
import { saIdIndex } from "./claims.ts";
import { createServiceAccountController } from "./controller.ts";
import { serviceAccountGauges } from "./gauges.ts";
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
  selectedBy: (account, caches) => decidingObject(caches, keyOf(account)) ?? account,
  gauges: serviceAccountGauges,
  reconciler: (context, _, enqueue) => createServiceAccountController(context, enqueue),
});
