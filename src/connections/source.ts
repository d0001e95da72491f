/** The Secrets and ConfigMaps that a connection's spec refers to, and their missing entries. Pure. */
import { keyText, type ObjectKey } from "../kube/resource.ts";
import type { ConfigMap, Secret } from "../kube/resource-types.ts";
import { ownEntry } from "../util/own-entry.ts";
import { decodeUtf8 } from "../util/utf8.ts";

/** The fields of a Secret or ConfigMap that are needed here. */
export type SourceObject = Pick<Secret | ConfigMap, "metadata" | "data"> &
  Pick<ConfigMap, "binaryData">;

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
    | "InvalidEncoding"
    | "CertificateInvalid";
  readonly message: string;
}

/**
 * The values of the required entries; none is empty. Trailing line breaks, as added by `echo`, and a byte order mark of
 * UTF-8 are removed.
 */
export function readEntries(
  source: Source,
  object: SourceObject | undefined,
): { readonly ok: true; readonly values: readonly string[] } | MissingInput {
  const { kind, keys } = source;
  if (object === undefined) {
    const message = `${nameOf(source)} does not exist; create it with ${listed(keys)}.`;
    return { ok: false, reason: `${kind}NotFound`, message };
  }
  const texts = keys.map((key) => decodeUtf8(bytesOf(kind, object, key)));
  // The messages have only names from the spec: a Connection can refer to any Secret, and users with permission to read
  // its conditions do not always have permission to read Secrets.
  for (const [index, text] of texts.entries())
    if (!text.ok) {
      const message = `${nameOf(source)} needs UTF-8 text in the key ${keys[index]}, not ${text.found}.`;
      return { ok: false, reason: "InvalidEncoding", message };
    }
  const values = texts.map((text) => (text.ok ? text.text.replace(/[\r\n]+$/, "") : ""));
  if (!values.includes("")) return { ok: true, values };
  const missing = keys.filter((_, index) => values[index] === "");
  const message = `${nameOf(source)} needs ${listed(keys)}; missing or empty: ${missing.join(", ")}.`;
  return { ok: false, reason: `${kind}Incomplete`, message };
}

/** `The credentials Secret team-a/console-login` */
export function nameOf({ kind, title, at }: Source): string {
  return `The ${title} ${kind} ${keyText(at)}`;
}

/** The bytes of an entry; none if it is missing. */
function bytesOf(kind: Source["kind"], { data, binaryData }: SourceObject, key: string): Buffer {
  const base64 = ownEntry(kind === "Secret" ? data : binaryData, key);
  if (base64 !== undefined) return Buffer.from(base64, "base64");
  return Buffer.from((kind === "ConfigMap" && ownEntry(data, key)) || "", "utf8");
}

function listed(keys: readonly string[]): string {
  return keys.length === 1 ? `the key ${keys[0]}` : `the keys ${keys.join(", ")}`;
}
