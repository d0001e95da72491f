/** Ownership of a Secret, by its name, labels and owner references. Pure. */
import type { ApiKeySpec } from "../../../api/api-key.ts";
import { labels, MANAGED_BY } from "../../../api/meta.ts";
import { OPAQUE } from "../../../api/secret-types.ts";
import type { Secret } from "../../resource-types.ts";

/** The part of an ApiKey that its Secrets depend on. */
export interface SecretOwner {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** Purpose of a Secret: consumers read the target; staging holds a new pair until consumers have it. */
export type SecretRole = "target" | "staging";

export function typeOf(role: SecretRole, spec: ApiKeySpec): string {
  return role === "target" ? spec.secret.type : OPAQUE;
}

export function stagingName(secretName: string): string {
  return `${secretName}-next`;
}

export function secretNameOf(apiKeyName: string, spec: ApiKeySpec): string {
  return spec.secret.name ?? apiKeyName;
}

export function ownLabels(
  { name }: SecretOwner,
  role: SecretRole,
): Readonly<Record<string, string>> {
  return { [labels.managedBy]: MANAGED_BY, [labels.apiKey]: labelValue(name), [labels.role]: role };
}

/** A label value has at most 63 characters. Longer names are cut; the owner reference distinguishes them. */
function labelValue(name: string): string {
  return name.length <= 63 ? name : name.slice(0, 63).replace(/[^a-z0-9]+$/, "");
}

export function isOwned({ metadata }: Secret, { uid }: SecretOwner): boolean {
  return metadata.ownerReferences?.some((reference) => reference.uid === uid) ?? false;
}
