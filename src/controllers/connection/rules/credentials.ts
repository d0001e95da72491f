import type { ConnectionSpec } from "../../../api/connection.ts";
import type { IamCredentials } from "../../../iam/model.ts";
import { keyText, type ObjectKey } from "../../../kube/resource.ts";
import { Redacted } from "../../../util/redacted.ts";
import type { Secret } from "../../resource-types.ts";

export type CredentialsFinding =
  | { readonly ok: true; readonly credentials: IamCredentials }
  | {
      readonly ok: false;
      readonly reason: "SecretNotFound" | "SecretIncomplete";
      readonly message: string;
    };

/** Name and needed keys of the Secret that a spec refers to; `undefined` unless it names exactly one. */
export function credentialsSource(
  spec: ConnectionSpec,
): { readonly name: string; readonly keys: readonly string[] } | undefined {
  const { login, token } = spec.credentials;
  if (login !== undefined && token === undefined) {
    const { name, usernameKey, passwordKey, domainKey } = login.secretRef;
    return { name, keys: [usernameKey, passwordKey, domainKey] };
  }
  if (token !== undefined && login === undefined) {
    return { name: token.secretRef.name, keys: [token.secretRef.key] };
  }
  return undefined;
}

/** Reads the credentials out of their Secret. Line breaks at the end, as `echo` leaves them, are dropped. */
export function parseCredentials(
  spec: ConnectionSpec,
  at: ObjectKey,
  secret: Secret | undefined,
): CredentialsFinding {
  const needed = credentialsSource(spec)?.keys ?? [];
  if (secret === undefined) {
    return {
      ok: false,
      reason: "SecretNotFound",
      message: `The credentials Secret ${keyText(at)} does not exist; create it with ${listed(needed)}.`,
    };
  }
  const values = needed.map((key) => textOf(secret, key));
  if (values.includes("")) {
    const found = Object.keys(secret.data ?? {})
      .filter((key) => textOf(secret, key) !== "")
      .slice(0, 10);
    return {
      ok: false,
      reason: "SecretIncomplete",
      message: `The credentials Secret ${keyText(at)} needs ${listed(needed)}, none of them empty; found ${found.length === 0 ? "none" : listed(found)}.`,
    };
  }
  const [first = "", password = "", domain = ""] = values;
  return {
    ok: true,
    credentials:
      spec.credentials.login === undefined
        ? { kind: "token", token: new Redacted(first) }
        : { kind: "login", username: first, password: new Redacted(password), domain },
  };
}

function textOf(secret: Secret, key: string): string {
  const value = Object.hasOwn(secret.data ?? {}, key) ? secret.data?.[key] : undefined;
  return value === undefined
    ? ""
    : Buffer.from(value, "base64")
        .toString("utf8")
        .replace(/[\r\n]+$/, "");
}

function listed(keys: readonly string[]): string {
  return keys.length === 1 ? `the key ${keys[0]}` : `the keys ${keys.join(", ")}`;
}
