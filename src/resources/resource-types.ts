/** The API resource types that the controllers read and write. */
import { apiKeyIntent, apiKeyKind } from "../api/api-key.ts";
import { clusterConnectionKind, connectionKind } from "../api/connection.ts";
import type { Kind, ObjectOf } from "../api/kind.ts";
import { GROUP, VERSION } from "../api/meta.ts";
import { policyBindingKind } from "../api/policy-binding.ts";
import { resourceQuotaExportKind } from "../api/resource-quota-export.ts";
import { serviceAccountIntent, serviceAccountKind } from "../api/service-account.ts";
import type { ResourceType } from "../kube/resource.ts";
import {
  type ConfigMap as CoreConfigMap,
  type Secret as CoreSecret,
  configMapType as coreConfigMapType,
  namespaceType as coreNamespaceType,
  secretType as coreSecretType,
} from "../kube/resource-types.ts";
import { intentReader } from "./stored-intent.ts";

export const clusterConnectionType = typeOf(clusterConnectionKind);
export const connectionType = typeOf(connectionKind);
export const serviceAccountType = {
  ...typeOf(serviceAccountKind),
  asRead: intentReader(serviceAccountIntent),
};
export const apiKeyType = { ...typeOf(apiKeyKind), asRead: intentReader(apiKeyIntent) };
export const policyBindingType = typeOf(policyBindingKind);
export const resourceQuotaExportType = typeOf(resourceQuotaExportKind);

export function typeOf<K extends Kind>({ plural, kind, scope }: K): ResourceType<ObjectOf<K>> {
  return { group: GROUP, version: VERSION, plural, kind, namespaced: scope === "Namespaced" };
}

export type Secret = CoreSecret;
export const secretType = coreSecretType;
export type ConfigMap = CoreConfigMap;
export const configMapType = coreConfigMapType;
export const namespaceType = coreNamespaceType;
