import { type ConnectionSpec, holdsCertificates } from "../api/connection.ts";
import { type ClientCertificate, readClientCertificate } from "../http/tls-settings.ts";
import {
  type MissingInput,
  nameOf,
  readEntries,
  type Source,
  type SourceObject,
} from "./source.ts";

/** In characters. Large enough for all CAs of a distribution; each Connection keeps its own copy in memory. */
const MOST_OF_BUNDLE = 262_144;
/** In characters; a chain of ten large certificates, and the largest keys. */
const MOST_OF_CHAIN = 32_768;
const MOST_OF_KEY = 16_384;

/** The source of the CA bundle; `undefined` if the spec refers to none. */
export function bundleSource(
  { caBundleFrom: from }: ConnectionSpec,
  namespace: string,
): Source | undefined {
  const ref = from?.configMapRef ?? from?.secretRef;
  if (ref === undefined) return undefined;
  const kind = ref === from?.configMapRef ? "ConfigMap" : "Secret";
  return { kind, title: "CA bundle's", at: { namespace, name: ref.name }, keys: [ref.key] };
}

export function parseBundle(
  source: Source,
  object: SourceObject | undefined,
): { readonly ok: true; readonly caBundle: string } | MissingInput {
  const read = readEntries(source, object);
  if (!read.ok) return read;
  const [caBundle = ""] = read.values;
  if (caBundle.length > MOST_OF_BUNDLE)
    return invalid(
      source,
      `needs at most ${MOST_OF_BUNDLE} characters in the key ${source.keys[0]}.`,
    );
  if (holdsCertificates(caBundle)) return { ok: true, caBundle };
  return invalid(
    source,
    `needs PEM in the key ${source.keys[0]}: one or more blocks that begin with -----BEGIN CERTIFICATE-----, not base64 of them.`,
  );
}

export function certificateSource(
  { clientCertificate }: ConnectionSpec,
  namespace: string,
): Source | undefined {
  if (clientCertificate === undefined) return undefined;
  const { name } = clientCertificate.secretRef;
  const keys = ["tls.crt", "tls.key"];
  return { kind: "Secret", title: "client certificate's", at: { namespace, name }, keys };
}

export function parseClientCertificate(
  source: Source,
  secret: SourceObject | undefined,
): { readonly ok: true; readonly clientCertificate: ClientCertificate } | MissingInput {
  const read = readEntries(source, secret);
  if (!read.ok) return read;
  const [chain = "", key = ""] = read.values;
  if (chain.length > MOST_OF_CHAIN || key.length > MOST_OF_KEY)
    return invalid(
      source,
      `needs at most ${MOST_OF_CHAIN} characters in the key tls.crt and ${MOST_OF_KEY} in tls.key: the certificate, its intermediate certificates, and the private key.`,
    );
  const clientCertificate = readClientCertificate(chain, key);
  if (clientCertificate !== undefined) return { ok: true, clientCertificate };
  return invalid(
    source,
    "needs a certificate in PEM in the key tls.crt, and in tls.key the private key that belongs to it, without a passphrase.",
  );
}

function invalid(source: Source, need: string): MissingInput {
  return { ok: false, reason: "CertificateInvalid", message: `${nameOf(source)} ${need}` };
}
