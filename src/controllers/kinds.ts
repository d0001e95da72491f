import { apiKeys } from "./api-key/module.ts";
import { clusterConnections, connections } from "./connection/module.ts";
import type { KindModule } from "./frame/kind-module.ts";
import { policyBindings } from "./policy-binding/module.ts";
import { resourceQuotaExports } from "./quota-export/module.ts";
import { serviceAccounts } from "./service-account/module.ts";

/** Every kind that the operator works on. No other file of the operator names all of them. */
export const kinds: readonly KindModule[] = [
  clusterConnections,
  connections,
  serviceAccounts,
  policyBindings,
  apiKeys,
  resourceQuotaExports,
];
