import { apiKeyKind } from "./api-key.ts";
import { clusterConnectionKind, connectionKind } from "./connection.ts";
import type { Kind, ObjectOf } from "./kind.ts";
import { policyBindingKind } from "./policy-binding.ts";
import { resourceQuotaExportKind } from "./resource-quota-export.ts";
import { serviceAccountKind } from "./service-account.ts";

const all = [
  clusterConnectionKind,
  connectionKind,
  serviceAccountKind,
  policyBindingKind,
  apiKeyKind,
  resourceQuotaExportKind,
] as const;

/** Every custom resource, in the order in which to introduce them to a new user. */
export const kinds: readonly Kind[] = all;

/** The objects of every kind, by its name. */
export type Kinds = { readonly [K in (typeof all)[number] as K["kind"]]: ObjectOf<K> };
export type KindName = keyof Kinds;
