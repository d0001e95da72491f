import type { KubeObject } from "../kube/resource.ts";
import type { KindModule } from "../reconciler/kind-module.ts";
import { type ApiKeyParts, apiKeys } from "./api-key/module.ts";
import { type ConnectionParts, clusterConnections, connections } from "./connection/module.ts";
import { policyBindings } from "./policy-binding/module.ts";
import { type QuotaExportParts, resourceQuotaExports } from "./quota-export/module.ts";
import { serviceAccounts } from "./service-account/module.ts";

/** The parts that the kinds need in addition to the Context. */
export type KindParts = ConnectionParts & ApiKeyParts & QuotaExportParts;

/** A kind as the operator sees it. */
export type AnyKind = KindModule<KubeObject, KindParts>;

/** All kinds that the operator reconciles. No other file of the operator lists all of them. */
export const kinds: readonly AnyKind[] = [
  clusterConnections,
  connections,
  serviceAccounts,
  policyBindings,
  apiKeys,
  resourceQuotaExports,
];
