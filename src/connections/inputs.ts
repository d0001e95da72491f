/** Everything that a connection reads from Secrets and ConfigMaps. Pure. */
import type { ConnectionSpec } from "../api/connection.ts";
import type { IamCredentials } from "../console/model.ts";
import type { ClientCertificate } from "../http/tls-settings.ts";
import {
  bundleSource,
  certificateSource,
  parseBundle,
  parseClientCertificate,
} from "./certificates.ts";
import { credentialsSource, parseCredentials } from "./credentials.ts";
import type { MissingInput, Source, SourceObject } from "./source.ts";

export interface ConnectionInputs {
  readonly credentials: IamCredentials;
  readonly caBundle?: string;
  readonly clientCertificate?: ClientCertificate;
}

export type InputsFinding = { readonly ok: true; readonly value: ConnectionInputs } | MissingInput;

/** The sources of a spec, in the order that {@link parseInputs} requires for the objects. */
export function sourcesOf(
  spec: ConnectionSpec,
  namespace: string,
): readonly [Source, Source | undefined, Source | undefined] {
  return [
    credentialsSource(spec, namespace),
    bundleSource(spec, namespace),
    certificateSource(spec, namespace),
  ];
}

/** If several inputs are missing, the result reports the first. */
export function parseInputs(
  spec: ConnectionSpec,
  [login, bundle, certificate]: ReturnType<typeof sourcesOf>,
  [inLogin, inBundle, inCertificate]: readonly (SourceObject | undefined)[],
): InputsFinding {
  const credentials = parseCredentials(spec, login, inLogin);
  if (!credentials.ok) return credentials;
  const authorities =
    bundle === undefined ? ({ ok: true } as const) : parseBundle(bundle, inBundle);
  if (!authorities.ok) return authorities;
  const own =
    certificate === undefined
      ? ({ ok: true } as const)
      : parseClientCertificate(certificate, inCertificate);
  if (!own.ok) return own;
  const { ok, ...value } = { ...credentials, ...authorities, ...own };
  return { ok, value };
}
