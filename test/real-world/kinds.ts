/** The operator's kinds by name, with the type of each. */
import type { ApiKey } from "../../src/api/api-key.ts";
import type { ClusterConnection, Connection } from "../../src/api/connection.ts";
import type { PolicyBinding } from "../../src/api/policy-binding.ts";
import type { ResourceQuotaExport } from "../../src/api/resource-quota-export.ts";
import type { ServiceAccount } from "../../src/api/service-account.ts";
import {
  apiKeyType,
  clusterConnectionType,
  connectionType,
  policyBindingType,
  resourceQuotaExportType,
  serviceAccountType,
} from "../../src/controllers/resource-types.ts";

export const types = {
  ClusterConnection: clusterConnectionType,
  Connection: connectionType,
  ServiceAccount: serviceAccountType,
  ApiKey: apiKeyType,
  PolicyBinding: policyBindingType,
  ResourceQuotaExport: resourceQuotaExportType,
};

export interface Kinds {
  ClusterConnection: ClusterConnection;
  Connection: Connection;
  ServiceAccount: ServiceAccount;
  ApiKey: ApiKey;
  PolicyBinding: PolicyBinding;
  ResourceQuotaExport: ResourceQuotaExport;
}
