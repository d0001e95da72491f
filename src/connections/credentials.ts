import type { ConnectionSpec } from "../api/connection.ts";
import type { IamCredentials } from "../console/model.ts";
import { Redacted } from "../util/redacted.ts";
import {
  type MissingInput,
  nameOf,
  readEntries,
  type Source,
  type SourceObject,
} from "./source.ts";

export function credentialsSource(
  { credentials: { login, token } }: ConnectionSpec,
  namespace: string,
): Source {
  const source = { kind: "Secret", title: "credentials" } as const;
  if (login === undefined) {
    const { name = "", key = "" } = token?.secretRef ?? {};
    return { ...source, at: { namespace, name }, keys: [key] };
  }
  const { name, usernameKey, passwordKey, domainKey } = login.secretRef;
  return { ...source, at: { namespace, name }, keys: [usernameKey, passwordKey, domainKey] };
}

/** In characters. Headers and login requests are not larger, and each connection keeps its own in memory. */
const MOST_OF_ENTRY = 16_384;

export function parseCredentials(
  spec: ConnectionSpec,
  source: Source,
  secret: SourceObject | undefined,
): { readonly ok: true; readonly credentials: IamCredentials } | MissingInput {
  const read = readEntries(source, secret);
  if (!read.ok) return read;
  const large = read.values.findIndex(({ length }) => length > MOST_OF_ENTRY);
  if (large >= 0) {
    const message = `${nameOf(source)} needs at most ${MOST_OF_ENTRY} characters in the key ${source.keys[large]}.`;
    return { ok: false, reason: "SecretIncomplete", message };
  }
  const [first = "", password = "", domain = ""] = read.values;
  return {
    ok: true,
    credentials:
      spec.credentials.login === undefined
        ? { kind: "token", token: new Redacted(first) }
        : { kind: "login", username: first, password: new Redacted(password), domain },
  };
}
