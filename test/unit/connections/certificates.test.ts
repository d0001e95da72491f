import { expect, test } from "vitest";
import {
  bundleSource,
  certificateSource,
  parseBundle,
  parseClientCertificate,
} from "../../../src/connections/certificates.ts";
import { opensslCertificate } from "../../support/openssl-certificate.ts";
import { connectionSpec } from "../controllers/connection/specs.ts";

const NAMESPACE = "team-a";
const PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----";
const KEY = "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----";
const metadata = { name: "console", namespace: NAMESPACE };

const encoded = (values: Readonly<Record<string, string>>) => ({
  metadata,
  data: Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
  ),
});

const refs = {
  configMapRef: { name: "console" },
  secretRef: { name: "console", key: "root.pem" },
} as const;

test("a bundle of more than 262144 characters is refused", () => {
  const found = readBundle("configMapRef", { "ca.crt": PEM + "x".repeat(262_144) });
  expect(found).toMatchObject({ ok: false, reason: "CertificateInvalid" });
});

function readBundle(
  ref: keyof typeof refs,
  data: Readonly<Record<string, string>> | undefined,
): object {
  const spec = connectionSpec({ caBundleFrom: { [ref]: refs[ref] } });
  const source = bundleSource(spec, NAMESPACE);
  if (source === undefined) throw new Error("no source");
  if (data === undefined) return parseBundle(source, undefined);
  return parseBundle(source, ref === "secretRef" ? encoded(data) : { metadata, data });
}

test.each<{
  name: string;
  ref: keyof typeof refs;
  data: Readonly<Record<string, string>> | undefined;
  found: object;
}>([
  {
    name: "a ConfigMap holds authorities in ca.crt",
    ref: "configMapRef",
    data: { "ca.crt": `${PEM}\n`, "other.crt": "x" },
    found: { ok: true, caBundle: PEM },
  },
  {
    name: "a Secret holds them in the entry that is named",
    ref: "secretRef",
    data: { "root.pem": PEM },
    found: { ok: true, caBundle: PEM },
  },
  {
    name: "a missing ConfigMap is named with what it needs",
    ref: "configMapRef",
    data: undefined,
    found: {
      ok: false,
      reason: "ConfigMapNotFound",
      message:
        "The CA bundle's ConfigMap team-a/console does not exist; create it with the key ca.crt.",
    },
  },
  {
    name: "a missing Secret as well",
    ref: "secretRef",
    data: undefined,
    found: {
      ok: false,
      reason: "SecretNotFound",
      message:
        "The CA bundle's Secret team-a/console does not exist; create it with the key root.pem.",
    },
  },
  {
    name: "a missing entry is named, and no entry that the spec does not name",
    ref: "configMapRef",
    data: { "bundle.pem": PEM },
    found: {
      ok: false,
      reason: "ConfigMapIncomplete",
      message:
        "The CA bundle's ConfigMap team-a/console needs the key ca.crt; missing or empty: ca.crt.",
    },
  },
  {
    name: "an empty entry is none",
    ref: "secretRef",
    data: { "root.pem": "\n" },
    found: {
      ok: false,
      reason: "SecretIncomplete",
      message:
        "The CA bundle's Secret team-a/console needs the key root.pem; missing or empty: root.pem.",
    },
  },
  {
    name: "what is no PEM is named, and not shown",
    ref: "configMapRef",
    data: { "ca.crt": KEY },
    found: {
      ok: false,
      reason: "CertificateInvalid",
      message:
        "The CA bundle's ConfigMap team-a/console needs PEM in the key ca.crt: one or more blocks that begin with -----BEGIN CERTIFICATE-----, not base64 of them.",
    },
  },
])("$name", ({ ref, data, found }) => {
  expect(readBundle(ref, data)).toEqual(found);
});

const [own, other] = [opensslCertificate(), opensslCertificate()];

test.runIf(own !== undefined && other !== undefined).each<{
  name: string;
  data: Readonly<Record<string, string | undefined>>;
  found: object;
}>([
  {
    name: "a certificate is read with its key",
    data: { "tls.crt": own?.cert, "tls.key": own?.key, "ca.crt": other?.cert },
    found: { ok: true },
  },
  {
    name: "a certificate without its key is incomplete",
    data: { "tls.crt": own?.cert },
    found: {
      ok: false,
      reason: "SecretIncomplete",
      message:
        "The client certificate's Secret team-a/console needs the keys tls.crt, tls.key; missing or empty: tls.key.",
    },
  },
  ...[
    {
      name: "the key of another certificate",
      data: { "tls.crt": own?.cert, "tls.key": other?.key },
    },
    { name: "a key that is none", data: { "tls.crt": own?.cert, "tls.key": KEY } },
    { name: "a certificate that is none", data: { "tls.crt": PEM, "tls.key": own?.key } },
  ].map(({ name, data }) => ({
    name: `${name} is named, and not shown`,
    data,
    found: {
      ok: false,
      reason: "CertificateInvalid",
      message:
        "The client certificate's Secret team-a/console needs a certificate in PEM in the key tls.crt, and in tls.key the private key that belongs to it, without a passphrase.",
    },
  })),
])("$name", ({ data, found }) => {
  const source = certificateSource(
    connectionSpec({ clientCertificate: { secretRef: { name: "console" } } }),
    NAMESPACE,
  );
  if (source === undefined) throw new Error("no source");
  const read = parseClientCertificate(source, encoded(data as Record<string, string>));
  expect(read).toMatchObject(found);
  expect(JSON.stringify(read)).not.toContain("PRIVATE KEY");
});
