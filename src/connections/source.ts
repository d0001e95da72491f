/** The Secrets and ConfigMaps that a connection's spec refers to, and their missing entries. Pure. */
import { keyText, type ObjectKey } from "../kube/resource.ts";
import type { ConfigMap, Secret } from "../kube/resource-types.ts";
import { ownEntry } from "../util/own-entry.ts";

/** The fields of a Secret or ConfigMap that are needed here. */
export type SourceObject = Pick<Secret | ConfigMap, "metadata" | "data">;

export interface Source {
  readonly kind: "Secret" | "ConfigMap";
  /** The name of its content in messages. */
  readonly title: string;
  readonly at: ObjectKey;
  /** The required entries. */
  readonly keys: readonly string[];
}

export interface MissingInput {
  readonly ok: false;
  readonly reason:
    | "SecretNotFound"
    | "SecretIncomplete"
    | "ConfigMapNotFound"
    | "ConfigMapIncomplete"
    | "CertificateInvalid";
  readonly message: string;
}

/** The values of the required entries; none is empty. Trailing line breaks, as added by `echo`, are removed. */
export function readEntries(
  source: Source,
  object: SourceObject | undefined,
): { readonly ok: true; readonly values: readonly string[] } | MissingInput {
  const { kind, keys } = source;
  if (object === undefined) {
    const message = `${nameOf(source)} does not exist; create it with ${listed(keys)}.`;
    return { ok: false, reason: `${kind}NotFound`, message };
  }
  const values = keys.map((key) => textOf(kind, object, key));
  if (!values.includes("")) return { ok: true, values };
  // The message has only names from the spec: a Connection can refer to any Secret, and users with permission to read
  // its conditions do not always have permission to read Secrets.
  const missing = keys.filter((_, index) => values[index] === "");
  const message = `${nameOf(source)} needs ${listed(keys)}; missing or empty: ${missing.join(", ")}.`;
  return { ok: false, reason: `${kind}Incomplete`, message };
}

/** `The credentials Secret team-a/console-login` */
export function nameOf({ kind, title, at }: Source): string {
  return `The ${title} ${kind} ${keyText(at)}`;
}

function textOf(kind: Source["kind"], { data = {} }: SourceObject, key: string): string {
  const value = ownEntry(data, key);
  if (value === undefined) return "";
  const text = kind === "Secret" ? Buffer.from(value, "base64").toString("utf8") : value;
  return text.replace(/[\r\n]+$/, "");
}

function listed(keys: readonly string[]): string {
  return keys.length === 1 ? `the key ${keys[0]}` : `the keys ${keys.join(", ")}`;
}
