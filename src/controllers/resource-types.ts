/** Where the kinds that the controllers read and write live in the API. */
import { type ApiKey, apiKeyKind } from "../api/api-key.ts";
import {
  type ClusterConnection,
  type Connection,
  clusterConnectionKind,
  connectionKind,
} from "../api/connection.ts";
import type { Kind } from "../api/kind.ts";
import { GROUP, VERSION } from "../api/meta.ts";
import { type PolicyBinding, policyBindingKind } from "../api/policy-binding.ts";
import { type ResourceQuotaExport, resourceQuotaExportKind } from "../api/resource-quota-export.ts";
import { type ServiceAccount, serviceAccountKind } from "../api/service-account.ts";
import type { KubeObject, ResourceType } from "../kube/resource.ts";
import {
  type ConfigMap as CoreConfigMap,
  type Secret as CoreSecret,
  configMapType as coreConfigMapType,
  namespaceType as coreNamespaceType,
  secretType as coreSecretType,
} from "../kube/resource-types.ts";

export const clusterConnectionType = typeOf<ClusterConnection>(clusterConnectionKind);
export const connectionType = typeOf<Connection>(connectionKind);
export const serviceAccountType = typeOf<ServiceAccount>(serviceAccountKind);
export const apiKeyType = typeOf<ApiKey>(apiKeyKind);
export const policyBindingType = typeOf<PolicyBinding>(policyBindingKind);
export const resourceQuotaExportType = typeOf<ResourceQuotaExport>(resourceQuotaExportKind);

function typeOf<T extends KubeObject>({ plural, kind, scope }: Kind): ResourceType<T> {
  return { group: GROUP, version: VERSION, plural, kind, namespaced: scope === "Namespaced" };
}

export type Secret = CoreSecret;
export const secretType = coreSecretType;
export type ConfigMap = CoreConfigMap;
export const configMapType = coreConfigMapType;
export const namespaceType = coreNamespaceType;
