import { apiKeyKind } from "./api-key.ts";
import { clusterConnectionKind, connectionKind } from "./connection.ts";
import type { Kind } from "./kind.ts";
import { policyBindingKind } from "./policy-binding.ts";
import { resourceQuotaExportKind } from "./resource-quota-export.ts";
import { serviceAccountKind } from "./service-account.ts";

/** Every custom resource, in the order a newcomer should read about them. */
export const kinds: readonly Kind[] = [
  clusterConnectionKind,
  connectionKind,
  serviceAccountKind,
  policyBindingKind,
  apiKeyKind,
  resourceQuotaExportKind,
];
