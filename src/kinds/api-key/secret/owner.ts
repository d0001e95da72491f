/** Ownership of a Secret, by its name, labels and owner references. Pure. */
import type { ApiKeySpec } from "../../../api/api-key.ts";
import { apiKeyLabel, labels, MANAGED_BY } from "../../../api/meta.ts";
import { targetSecretName } from "../../../api/secret-names.ts";
import { OPAQUE } from "../../../api/secret-types.ts";
import type { Secret } from "../../../resources/resource-types.ts";
import { ownEntry } from "../../../util/own-entry.ts";

/** The part of an ApiKey that its Secrets depend on. */
export interface SecretOwner {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Purpose of a Secret: consumers read the target; pending holds a new pair until consumers have it. */
export type SecretRole = "target" | "pending";

export function typeOf(role: SecretRole, spec: ApiKeySpec): string {
  return role === "target" ? spec.secret.type : OPAQUE;
}

export function secretNameOf(apiKeyName: string, spec: ApiKeySpec): string {
  return targetSecretName({ metadata: { name: apiKeyName }, spec });
}

export function ownLabels(
  { name }: SecretOwner,
  role: SecretRole,
): Readonly<Record<string, string>> {
  return {
    [labels.managedBy]: MANAGED_BY,
    [labels.apiKey]: apiKeyLabel(name),
    [labels.role]: role,
  };
}

/** Whether the label of a Secret names the ApiKey. */
export function namesApiKey(
  { metadata }: Pick<Secret, "metadata">,
  { name }: SecretOwner,
): boolean {
  return ownEntry(metadata.labels, labels.apiKey) === apiKeyLabel(name);
}

export function isOwned({ metadata }: Secret, { uid }: SecretOwner): boolean {
  return metadata.ownerReferences?.some((reference) => reference.uid === uid) ?? false;
}
