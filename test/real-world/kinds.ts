/** The resource type of each of the operator's kinds. */
import type { Kinds } from "../../src/api/kinds.ts";
import type { ResourceType } from "../../src/kube/resource.ts";
import {
  apiKeyType,
  clusterConnectionType,
  connectionType,
  policyBindingType,
  resourceQuotaExportType,
  serviceAccountType,
} from "../../src/resources/resource-types.ts";

export const types: { readonly [K in keyof Kinds]: ResourceType<Kinds[K]> } = {
  ClusterConnection: clusterConnectionType,
  Connection: connectionType,
  ServiceAccount: serviceAccountType,
  ApiKey: apiKeyType,
  PolicyBinding: policyBindingType,
  ResourceQuotaExport: resourceQuotaExportType,
};
